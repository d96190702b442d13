package repository

import (
	"context"
	"fmt"
	"sync"

	"triton/server/model"
	"triton/server/repository/layout"
	"triton/server/store"
)

// edit is what an operation changes of the wanted state.
type edit struct {
	by    asker
	asked []finding  // models that are wanted
	parts bool       // and those that their steps need
	gone  []store.ID // models that are wanted no more
	// dependents are the models that only those in gone need: they go too.
	dependents bool
}

// result is what became of the models of an operation.
type result struct {
	errs     map[store.ID]error // of failed loads
	reported map[store.ID]bool  // models that were not loaded because the store does not have them as it should
}

// reconcile edits the wanted state and brings the models that this is about to it,
// and the ensembles over them. The caller holds their names.
func (r *Repository) reconcile(ctx context.Context, l *layout.Listing, e edit) result {
	found := r.survey(ctx, l, e)
	for _, f := range found {
		r.remark(f.content)
	}
	r.mu.Lock()
	gone := r.wanted.forget(e.gone, e.dependents)
	for _, f := range found {
		if f.listed || f.content != nil {
			r.wanted.want(f.id, f.by, f.content)
		}
		if o := r.outcomes[f.id]; o != nil && f.content != nil {
			r.outcomes[f.id] = &outcome{o.location, o.stamp, o.override, nil}
		}
	}
	actions := plan(r.wanted, found, gone)
	r.mu.Unlock()
	return r.perform(ctx, actions)
}

// survey looks at the wanted models of an edit, those that are asked for first. It
// is the only part of an operation that may have to wait for the store.
func (r *Repository) survey(ctx context.Context, l *layout.Listing, e edit) []finding {
	all := e.asked
	seen := map[store.ID]bool{}
	for _, f := range all {
		seen[f.id] = true
	}
	for i := 0; i < len(all); i++ {
		f := &all[i]
		if f.by = byStep; i < len(e.asked) {
			f.by = e.by
		}
		if f.content == nil && f.err == nil {
			r.look(ctx, l, f)
		}
		if !e.parts {
			continue
		}
		for _, p := range r.needed(f) {
			if p.Name != "" && !seen[p] {
				seen[p] = true
				all = append(all, finding{id: p})
			}
		}
	}
	return all
}

// remark logs what has no effect in a configuration that is about to be loaded.
func (r *Repository) remark(c *layout.Content) {
	if c == nil {
		return
	}
	for _, f := range c.Config.NoEffect() {
		r.opts.Log.Warn(fmt.Sprintf("model '%s': %s", c.ID(), f.Msg))
	}
}

// look finds out about one model, and reads it if it is due.
func (r *Repository) look(ctx context.Context, l *layout.Listing, f *finding) {
	m := l.Model(f.id)
	if m == nil {
		f.lost = l.Err
		return
	}
	f.listed, f.ambiguous, f.location = true, m.Ambiguous, m.Location
	if f.ambiguous {
		return
	}
	r.mu.Lock()
	f.have = r.outcomes[f.id]
	r.mu.Unlock()
	f.broken = r.view.Load().named(f.id).broken()
	if f.stamp, f.err = l.Stamp(ctx, m); f.err != nil {
		return
	}
	if override, due := f.due(); due {
		f.content, f.err = l.Content(ctx, m, override)
	}
}

// needed returns the models that a found one needs, also when it is not due.
func (r *Repository) needed(f *finding) []store.ID {
	if f.content != nil {
		return f.content.Parts
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wanted.parts(f.id)
}

// perform does what was planned: loads at the same time, ensembles after their
// parts, and then looks again at the ensembles that need one of the models.
func (r *Repository) perform(ctx context.Context, actions []action) result {
	out := result{map[store.ID]error{}, map[store.ID]bool{}}
	done := map[store.ID]chan struct{}{}
	var changed []store.ID
	for _, a := range actions {
		switch a.do {
		case report:
			out.reported[a.id] = true
			r.opts.Log.Error(a.text, a.details()...)
			continue
		case withdraw:
			r.dismiss(a.id)
		case load:
			done[a.id] = make(chan struct{})
		}
		changed = append(changed, a.id)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, a := range actions {
		if a.do != load {
			continue
		}
		wg.Go(func() {
			defer close(done[a.id])
			for _, p := range a.after {
				<-done[p]
			}
			err := r.apply(ctx, a.content)
			mu.Lock()
			defer mu.Unlock()
			out.errs[a.id] = err
		})
	}
	wg.Wait()
	r.follow(ctx, changed)
	return out
}

// follow brings the ensembles over models up to date after those changed.
func (r *Repository) follow(ctx context.Context, changed []store.ID) {
	var all []*layout.Content
	r.mu.Lock()
	for _, id := range r.wanted.above(changed) {
		c := r.wanted[id].content
		c.Folder.Hold()
		all = append(all, c)
	}
	r.mu.Unlock()
	for _, c := range all {
		_ = r.apply(ctx, c) // the log says it
		c.Folder.Release()
	}
}

// dismiss takes all versions of a model out of service.
func (r *Repository) dismiss(id store.ID) {
	r.mu.Lock()
	delete(r.outcomes, id)
	r.mu.Unlock()
	r.withdraw(id, false)
}

// withdraw takes all versions of a model out of service that may come back.
func (r *Repository) withdraw(id store.ID, wanted bool) {
	var leaving []*model.Loaded
	r.change(id, func(m *served) {
		m.wanted = wanted
		for i := range m.entries {
			if e := &m.entries[i]; e.state == stateReady {
				e.state = stateUnloading
				leaving = append(leaving, e.version)
			}
		}
	})
	for _, v := range leaving {
		r.retire(id, v)
	}
}
