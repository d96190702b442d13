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
	"triton/server/repository/actual"
	"triton/server/repository/desired"
	"triton/server/repository/evict"
	"triton/server/repository/layout"
	"triton/server/repository/ondemand"
	"triton/server/store"
)

// demandModels are the models of a repository as package ondemand sees them. There are no
// namespaces.
type demandModels struct{ r *Repository }

var _ ondemand.Models = (*demandModels)(nil)

// Target finds a model and the models of its steps in the store.
func (d *demandModels) Target(ctx context.Context, name string) (ondemand.Target, error) {
	return d.target(ctx, name, nil)
}

func (d *demandModels) target(ctx context.Context, name string, override *string) (ondemand.Target, error) {
	r := d.r
	l := r.list(ctx)
	defer l.Release()
	t := ondemand.Target{}
	if root := l.Named(name); len(root) > 0 {
		t.Known = true
		if s, err := r.settingsOf(ctx, l, root[0]); err == nil {
			t.Priority = s.Priority
		}
	} else if l.Err != nil {
		return t, l.Err
	}
	var content strings.Builder
	now := r.actual.Snapshot()
	members := closure([]string{name}, func(at string) []string {
		if at == name {
			return l.StepNames(ctx, at, override)
		}
		return l.StepNames(ctx, at, nil)
	})
	for _, member := range members {
		m := l.Model(store.ID{Name: member})
		if m == nil {
			fmt.Fprintf(&content, "%s: missing\n", member)
			continue
		}
		stamp, err := l.Stamp(ctx, m)
		if err != nil {
			return t, err
		}
		writeStamp(&content, member, stamp)
		t.Members = append(t.Members, ondemand.Member{
			Name: member, Loaded: now.Model(m.ID).Newest() != nil, Need: r.need(ctx, l, m),
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
func (r *Repository) need(ctx context.Context, l *layout.Listing, m *store.Model) evict.Bytes {
	sum := evict.Bytes{}
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
func (d *demandModels) Load(ctx context.Context, name string) error {
	r := d.r
	return r.runTask(ctx, func(ctx context.Context) error {
		return r.loadFor(ctx, desired.ByDemand, name, infer.LoadOptions{Config: r.overrides.get(name)}, completeView)
	})
}

// Unload takes a model out of service, and the ensembles that need it, unless one of them works or
// another operation has one of their names.
func (d *demandModels) Unload(name string) (pending func() bool, unloaded bool) {
	r := d.r
	if !r.tasks.begin() {
		return nil, false
	}
	defer r.tasks.done()
	op, life := r.begin(r.life)
	names := r.connected(name)
	if len(names) > 1 {
		names = append([]string{relatedLock}, names...)
	}
	free, ok := r.locks.tryAll(op, names)
	if !ok {
		return nil, false
	}
	defer free()
	id := store.ID{Name: name}
	r.mu.Lock()
	ids := append([]store.ID{id}, r.desired.EnsemblesOf([]store.ID{id})...)
	r.mu.Unlock()
	now := r.actual.Snapshot()
	var versions []*model.LoadedVersion
	for _, id := range ids {
		versions = append(versions, now.Model(id).Ready()...)
	}
	for _, v := range versions {
		r.memory.learn(v) // with what its requests have added
	}
	if len(versions) == 0 || !model.RetireIdle(versions) {
		return nil, false
	}
	for _, id := range ids {
		r.overrides.keep(id.Name, r.overrideOf(id))
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
		if ready := m.Ready(); len(ready) > 0 {
			all = append(all, r.loadedModel(m, ready))
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range all {
		l := &all[i]
		id := store.ID{Name: l.Name}
		for _, user := range r.desired.EnsemblesOf([]store.ID{id}) {
			l.With = append(l.With, user.Name)
		}
		if r.desired.Has(id) {
			l.Lasting = r.desired.Content(id).Uploaded()
		}
	}
	return all
}

func (r *Repository) loadedModel(m *actual.Model, ready []*model.LoadedVersion) ondemand.Model {
	l := ondemand.Model{Name: m.ID.Name, Bytes: evict.Bytes{}}
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
		l.Settings = ondemand.Settings{Pinned: s.Pinned, KeepAlive: s.KeepAlive, Priority: s.Priority}
	}
	l.Pinned = l.Pinned || slices.Contains(r.opts.Demand.Pinned, l.Name)
	return l
}

// Hold takes references to the versions of a model and its steps.
func (d *demandModels) Hold(name string) (release func()) {
	var held []infer.Callee
	for _, v := range d.r.actual.Snapshot().Model(store.ID{Name: name}).Ready() {
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
