package state

import (
	"triton/pkg/status"
	"triton/server/infer"
	"triton/server/model"
	"triton/server/store"
)

// stepsOfActual finds the models of an ensemble's steps by ID.
type stepsOfActual struct {
	state *Actual
	ids   map[string]store.ID // by name
}

// submitter finds the models that a model calls by name while it executes. If several models
// have the name, it prefers the one in the calling model's namespace.
type submitter struct {
	state     *Actual
	namespace string
}

var (
	_ infer.Submitter = (*stepsOfActual)(nil)
	_ infer.Submitter = (*submitter)(nil)
)

// Steps returns the submitter of an ensemble; ids are the IDs of its steps' models by name.
func (s *Actual) Steps(ids map[string]store.ID) infer.Submitter { return &stepsOfActual{s, ids} }

// Submitter returns the submitter of a model in a namespace.
func (s *Actual) Submitter(namespace string) infer.Submitter { return &submitter{s, namespace} }

// Acquire takes a reference to the model of a step.
func (s *stepsOfActual) Acquire(name, version string) (infer.Callee, error) {
	id := s.ids[name]
	rule := s.state.versionOf(name, version)
	for {
		now := s.state.current.Load()
		v := now.Model(id).readyVersion(rule)
		if v == nil && rule != version {
			v = now.Model(id).readyVersion(version)
		}
		if v != nil {
			if c, ok := v.AcquireCallee(); ok {
				return c, nil
			}
		}
		if s.state.current.Load() == now {
			return nil, notFound("Request for unknown model: '%s' has no available versions", id)
		}
	}
}

// versionOf returns the version of a step's model: the one that the step names, or the one of the
// model's rules. Rules that lead to another model do not count, because the ensemble was checked
// against this one.
func (s *Actual) versionOf(name, version string) string {
	if version != "" || s.opts.Resolve == nil {
		return version
	}
	if model, v := s.opts.Resolve(name); model == name {
		return v
	}
	return ""
}

// Acquire takes a reference to a ready version, during a drain too.
func (s *submitter) Acquire(name, version string) (infer.Callee, error) {
	for {
		now := s.state.current.Load()
		v, err := s.find(now, name, version)
		if err == nil {
			if c, ok := v.AcquireCallee(); ok {
				return c, nil
			}
		}
		if s.state.current.Load() == now {
			if err == nil {
				err = status.New(status.Unavailable, "Request for unknown model: '%s' version %d is not at ready state", name, v.Number())
			}
			return nil, err
		}
	}
}

// find finds the version of a name, or the one that the name's rules mean if it is ready.
func (s *submitter) find(now *Snapshot, name, version string) (*model.LoadedVersion, error) {
	if version == "" && s.state.opts.Resolve != nil {
		if m, v := s.state.opts.Resolve(name); m != name || v != "" {
			if found, err := s.findVersion(now, m, v); err == nil {
				return found, nil
			}
		}
	}
	return s.findVersion(now, name, version)
}

func (s *submitter) findVersion(now *Snapshot, name, version string) (*model.LoadedVersion, error) {
	m, err := s.modelNamed(now, name)
	if err != nil {
		return nil, err
	}
	found, err := m.find(name, version)
	if err != nil {
		return nil, err
	}
	return found.Loaded, nil
}

// modelNamed returns the model that the calling model means by a name. When there is none it returns nil
// or an error, as Actual.modelNamed.
func (s *submitter) modelNamed(now *Snapshot, name string) (*Model, error) {
	if s.state.opts.Listed != nil {
		id, n := s.state.identify(now, s.namespace, name)
		if n > 1 {
			return nil, ambiguous(n, name)
		}
		return now.Model(id), nil
	}
	if m := now.Model(store.ID{Namespace: s.namespace, Name: name}); m != nil && m.Newest() != nil {
		return m, nil
	}
	return s.state.modelNamed(now, name)
}
