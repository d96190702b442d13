package host

import (
	"context"
	"encoding/json"
	"strconv"

	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/backend/plugin"
	"triton/server/capi"
)

// describe says what a backend can do.
func (h *host) describe(name []byte) ([]byte, error) {
	b, err := h.backend(string(name))
	if err != nil {
		return nil, err
	}
	var a Abilities
	_, a.Completes = b.(backend.AutoCompleter)
	if g, ok := b.(interface{ HasGPU() bool }); ok {
		a.GPU = g.HasGPU()
	}
	return json.Marshal(a)
}

func (h *host) backend(name string) (backend.Backend, error) {
	if where, ok := plugin.ParseKey(name); ok {
		capi.SetLog(h.log, nil)
		h.metrics.Do(func() { capi.Metrics().SetMirror(mirror{h.post}) })
		return plugin.New(where), nil
	}
	b := h.backends[name]
	if b == nil {
		return nil, status.New(status.Internal, "the child has no backend '%s'", name)
	}
	return b, nil
}

// complete completes a configuration.
func (h *host) complete(body []byte) ([]byte, error) {
	b, spec, err := h.spec(body)
	if err != nil {
		return nil, err
	}
	a, ok := b.(backend.AutoCompleter)
	if !ok {
		return nil, status.New(status.Internal, "the backend completes no configurations")
	}
	if err := a.AutoComplete(context.Background(), spec); err != nil {
		return nil, err
	}
	if a, ok := b.(interface{ Abandon() }); ok {
		a.Abandon() // the child that loads the model prepares it again
	}
	return proto.Marshal(spec.Config)
}

// load loads the model.
func (h *host) load(body []byte) ([]byte, error) {
	b, spec, err := h.spec(body)
	if err != nil {
		return nil, err
	}
	h.name, h.version, h.memory.states = spec.Name, strconv.FormatInt(spec.Version, 10), stateNames(spec.Config)
	m, err := b.Load(context.Background(), spec)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	h.mu.model = m
	h.mu.Unlock()
	return nil, nil
}

func (h *host) spec(body []byte) (backend.Backend, backend.Spec, error) {
	var s Spec
	if err := json.Unmarshal(body, &s); err != nil {
		return nil, backend.Spec{}, err
	}
	config := &inferencepb.ModelConfig{}
	if err := proto.Unmarshal(s.Config, config); err != nil {
		return nil, backend.Spec{}, err
	}
	b, err := h.backend(s.Backend)
	return b, backend.Spec{
		Name: s.Name, Version: s.Version, Config: config, Dir: s.Dir, File: s.File, Settings: s.Settings,
		Pool: h.memory.pool, Log: h.log, CPUs: s.CPUs,
		Capability: func(device int) string {
			if device < 0 || device >= len(s.Capabilities) {
				return ""
			}
			return s.Capabilities[device]
		},
	}, err
}

// newInstance makes an instance with the number that the server has chosen.
func (h *host) newInstance(body []byte) ([]byte, error) {
	number, body, err := numbered(body)
	if err != nil {
		return nil, err
	}
	var p Placement
	if err := json.Unmarshal(body, &p); err != nil {
		return nil, err
	}
	group := &inferencepb.ModelInstanceGroup{}
	if err := proto.Unmarshal(p.Group, group); err != nil {
		return nil, err
	}
	h.mu.Lock()
	m := h.mu.model
	h.mu.Unlock()
	if m == nil {
		return nil, status.New(status.Internal, "the child has no model")
	}
	thread, err := bound(p.HostPolicy)
	if err != nil {
		return nil, err
	}
	var made backend.Instance
	thread.call(func() {
		made, err = contained(h.log, func() (backend.Instance, error) {
			return m.NewInstance(context.Background(), backend.Placement{
				Name: p.Name, Kind: inferencepb.ModelInstanceGroup_Kind(p.Kind), Device: p.Device, Group: group, Instances: p.Instances,
				HostPolicy: p.HostPolicy,
			})
		})
	})
	if err == nil && made == nil {
		err = status.New(status.Internal, "the backend made no instance")
	}
	if err != nil {
		thread.close()
		return nil, err
	}
	in := newInstance(h, number, p.Name, made, thread)
	h.mu.Lock()
	h.mu.instances[number] = in
	h.mu.Unlock()
	_, checks := made.(backend.ReadinessChecker)
	return json.Marshal(Made{Checks: checks})
}

// closeInstance closes an instance when its batch has ended.
func (h *host) closeInstance(body []byte) ([]byte, error) {
	number, _, err := numbered(body)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	in := h.mu.instances[number]
	delete(h.mu.instances, number)
	h.mu.Unlock()
	if in == nil {
		return nil, errNoInstance
	}
	return nil, in.close()
}

// checkReady asks an instance whether it takes requests.
func (h *host) checkReady(body []byte) ([]byte, error) {
	number, _, err := numbered(body)
	if err != nil {
		return nil, err
	}
	in := h.instance(number)
	if in == nil {
		return nil, errNoInstance
	}
	c, ok := in.backend.(backend.ReadinessChecker)
	if !ok {
		return nil, nil
	}
	return nil, c.CheckReady()
}

// finalize closes the model.
func (h *host) finalize([]byte) ([]byte, error) {
	h.mu.Lock()
	m := h.mu.model
	h.mu.model = nil
	h.mu.Unlock()
	if m == nil {
		return nil, nil
	}
	return nil, m.Close()
}
