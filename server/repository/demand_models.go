package repository

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"triton/pkg/modelconfig/extension"
	"triton/server/infer"
	"triton/server/model"
	"triton/server/repository/layout"
	"triton/server/repository/ondemand"
	"triton/server/repository/state"
	"triton/server/store"
)

// demandModels are the models of a repository as package ondemand sees them, with their keys as names.
type demandModels struct{ r *Repository }

var _ ondemand.Models = (*demandModels)(nil)

// key returns the name of a model in package ondemand.
func (r *Repository) key(id store.ID) string {
	key := id.String()
	if r.opts.Namespacing {
		r.keys.LoadOrStore(key, id)
	}
	return key
}

// idOf returns the model of a key.
func (r *Repository) idOf(key string) store.ID {
	if id, ok := r.keys.Load(key); ok {
		return id.(store.ID)
	}
	return store.ID{Name: key}
}

// Target finds a model and the models of its steps in the store.
func (d *demandModels) Target(ctx context.Context, key string) (ondemand.Target, error) {
	l := d.r.list(ctx)
	defer l.Release()
	id := d.r.idOf(key)
	t, err := d.target(ctx, l, []store.ID{id}, nil)
	t.Known = t.Known && d.r.roster.Load().has(id.Name)
	return t, err
}

// targets finds what a client names, and the key of its load. An ID without a namespace stands for all
// models of the name.
func (d *demandModels) targets(ctx context.Context, id store.ID, override *string) (key string, t ondemand.Target, err error) {
	l := d.r.list(ctx)
	defer l.Release()
	var ids []store.ID
	for _, f := range findings(l, id) {
		ids = append(ids, f.ID)
	}
	t, err = d.target(ctx, l, ids, override)
	if len(ids) == 1 {
		id = ids[0]
	}
	return d.r.key(id), t, err
}

func (d *demandModels) target(ctx context.Context, l *layout.Listing, ids []store.ID, override *string) (ondemand.Target, error) {
	r := d.r
	t := ondemand.Target{}
	if root := l.Model(ids[0]); root != nil {
		t.Known = true
		if s, err := r.settingsOf(ctx, l, *root); err == nil {
			t.Priority = s.Priority
		}
	} else if l.Err != nil {
		return t, l.Err
	}
	var content strings.Builder
	now := r.actual.Snapshot()
	members := reach(ids, func(at store.ID) []store.ID {
		if slices.Contains(ids, at) {
			return l.Steps(ctx, at, override)
		}
		return l.Steps(ctx, at, nil)
	}, store.ID{})
	slices.SortFunc(members, store.Compare)
	for _, member := range members {
		m := l.Model(member)
		if m == nil {
			fmt.Fprintf(&content, "%s: missing\n", member)
			continue
		}
		stamp, err := l.Stamp(ctx, m)
		if err != nil {
			return t, err
		}
		writeStamp(&content, member.String(), stamp)
		t.Members = append(t.Members, ondemand.Member{
			Name: r.key(member), Loaded: now.Model(member).Newest() != nil, Need: r.need(ctx, l, m),
		})
	}
	t.Content = content.String()
	return t, ctx.Err()
}

func writeStamp(to *strings.Builder, name string, s store.Stamp) {
	for _, file := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(to, "%s/%s %s\n", name, file, s[file].Tag)
	}
}

// need estimates the memory of a model. A model that cannot be read needs none: its load reports
// why.
func (r *Repository) need(ctx context.Context, l *layout.Listing, m *store.Model) ondemand.Bytes {
	sum := ondemand.Bytes{}
	c, err := l.Content(ctx, m, nil)
	if err != nil || c.Ensemble() {
		return sum
	}
	for _, v := range c.Versions {
		folder, err := c.Fetch(ctx, r.reader.Store, v.Name)
		if err != nil {
			continue
		}
		for device, n := range r.memory.estimator.Estimate(described(c, folder, v.Name)) {
			sum[device] += n
		}
		folder.Release()
	}
	return sum
}

// settingsOf reads the settings for loading on demand from the configuration of a model.
func (r *Repository) settingsOf(ctx context.Context, l *layout.Listing, m store.Model) (extension.Residency, error) {
	c, err := l.Config(ctx, &m)
	if err != nil {
		return extension.Residency{}, err
	}
	s, _ := extension.Read(c) // the load reports mistakes
	return s.Residency, nil
}

// Load loads a model for requests.
func (d *demandModels) Load(ctx context.Context, key string) error {
	r := d.r
	id := r.idOf(key)
	return r.runTask(ctx, func(ctx context.Context) error {
		return r.loadFor(ctx, state.ByDemand, id, infer.LoadOptions{Config: r.overrides.get(id)}, restrictToComplete)
	})
}

// Unload takes a model out of service, and the ensembles that need it, unless one of them works or
// another operation has one of their names.
func (d *demandModels) Unload(key string) (pending func() bool, unloaded bool) {
	r := d.r
	if !r.tasks.begin() {
		return nil, false
	}
	defer r.tasks.done()
	op, life := r.newOperation(r.life)
	id := r.idOf(key)
	names := r.connected(id.Name)
	if len(names) > 1 {
		names = append([]string{relatedLock}, names...)
	}
	free, ok := r.tryConnected(op, names)
	if !ok {
		return nil, false
	}
	defer free()
	r.mu.Lock()
	ids := append([]store.ID{id}, r.desired.EnsemblesOf([]store.ID{id})...)
	r.mu.Unlock()
	now := r.actual.Snapshot()
	var versions []*model.LoadedVersion
	for _, id := range ids {
		versions = append(versions, now.Model(id).ReadyVersions()...)
	}
	for _, v := range versions {
		r.memory.learn(v) // with what its requests have added
	}
	if len(versions) == 0 || !model.RetireIdle(versions) {
		return nil, false
	}
	for _, id := range ids {
		r.overrides.keep(id, r.overrideOf(id))
	}
	r.reconcile(life, nil, edit{removed: ids})
	return func() bool { return r.closing(versions) }, true
}

// overrideOf returns the configuration that replaces the store's in the loaded model; nil: none.
func (r *Repository) overrideOf(id store.ID) *string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o := r.outcomes[id]; o != nil {
		return o.Override
	}
	return nil
}

// closing reports whether one of the versions is not closed.
func (r *Repository) closing(versions []*model.LoadedVersion) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(versions, func(v *model.LoadedVersion) bool {
		_, retiring := r.retiring[v]
		return retiring
	})
}

// Loaded returns the loaded models.
func (d *demandModels) Loaded() []ondemand.Model {
	r := d.r
	now := r.actual.Snapshot()
	var all []ondemand.Model
	for _, m := range now.Models() {
		if ready := m.ReadyVersions(); len(ready) > 0 {
			all = append(all, r.loadedModel(m, ready))
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range all {
		l := &all[i]
		id := r.idOf(l.Name)
		for _, user := range r.desired.EnsemblesOf([]store.ID{id}) {
			l.With = append(l.With, r.key(user))
		}
		if r.desired.Has(id) {
			l.Lasting = r.desired.Content(id).Uploaded()
		}
	}
	return all
}

func (r *Repository) loadedModel(m *state.Model, ready []*model.LoadedVersion) ondemand.Model {
	l := ondemand.Model{Name: r.key(m.ID), Bytes: ondemand.Bytes{}}
	for _, v := range ready {
		estimated, measured := r.memory.of(v)
		for _, device := range devicesOf(estimated, measured) {
			if n, ok := measured[device]; ok {
				l.Bytes[device] += n
			} else {
				l.Bytes[device] += estimated[device]
			}
		}
		l.Uses += v.Stats().Requests()
		l.Busy = l.Busy || v.InFlight() > 0
		l.LoadTime += v.LoadTime()
		l.Ensemble = v.Ensemble()
		s := v.Residency()
		l.Settings = ondemand.Settings{Pinned: r.pins(m.ID.Name, s.Pinned), KeepAlive: s.KeepAlive, Priority: s.Priority}
	}
	return l
}

// Hold takes references to the versions of a model and its steps.
func (d *demandModels) Hold(key string) (release func()) {
	var held []infer.Callee
	for _, v := range d.r.actual.Snapshot().Model(d.r.idOf(key)).ReadyVersions() {
		if c, ok := v.AcquireCallee(); ok {
			held = append(held, c)
		}
	}
	return func() {
		for _, c := range held {
			c.Release()
		}
	}
}
