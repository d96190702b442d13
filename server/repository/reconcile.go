package repository

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"triton/pkg/log"
	"triton/pkg/status"
	"triton/server/model"
	"triton/server/repository/layout"
	"triton/server/repository/state"
	"triton/server/store"
)

// edit is an operation's change of the desired state.
type edit struct {
	by        state.Requester
	added     []state.Finding // models to serve
	composing bool            // also serve the models of their steps
	// removed are the models that are no longer to be served. With dependents, the models
	// that only they need as steps are removed too.
	removed    []store.ID
	dependents bool
	restrict   restriction     // nil: all may be loaded
	kept       map[string]bool // the names of steps that are not loaded, even if they break meanwhile
}

// restriction cuts the stamp of a finding down to what the operation may load, and sets Unsettled, SeenBefore or
// Unloaded where it may load nothing. That of a poll also records what it saw: observeAndRestrict.
type restriction func(f *state.Finding)

// result is the outcome of an operation for its models.
type result struct {
	errs     map[store.ID]error // of loads; nil after a success
	reported map[store.ID]error // the cause, if it is known, of each model whose action was state.VerbReport
}

// reconcile edits the desired state, and brings the actual state of the edited models and of
// the ensembles that need them to it. The caller has locked their names. A poll calls survey and
// carryOut itself, because it carries out each group of models apart: startGroups.
func (r *Repository) reconcile(ctx context.Context, l *layout.Listing, e edit) result {
	return r.carryOut(ctx, r.survey(ctx, l, e), e.removed, e.dependents)
}

// carryOut edits the desired state by what an operation has found, and carries out the plan that follows
// from it. The caller has locked the names of the models that are loaded or removed.
func (r *Repository) carryOut(ctx context.Context, found []state.Finding, removed []store.ID, dependents bool) result {
	for _, f := range found {
		r.warnNoEffect(f.Content)
	}
	r.mu.Lock()
	removed = r.desired.Remove(removed, dependents)
	for _, id := range removed {
		delete(r.refused, id)
	}
	for _, f := range found {
		if f.Listed && f.Err != nil {
			r.refused[f.ID] = f.Err
		} else {
			delete(r.refused, f.ID)
		}
		if f.Listed || f.Content != nil {
			r.desired.Add(f.ID, f.By, f.Content)
		}
		if o := r.outcomes[f.ID]; o != nil && f.Content != nil {
			r.outcomes[f.ID] = o.Forgiven()
		}
	}
	actions := state.PlanModels(r.desired, found, removed)
	r.mu.Unlock()
	return r.perform(ctx, actions)
}

// survey finds the added models of an edit in the store, and then their composing models. Only
// survey and the fetch of versions wait for the store.
func (r *Repository) survey(ctx context.Context, l *layout.Listing, e edit) []state.Finding {
	all := e.added
	seen := map[store.ID]bool{}
	for _, f := range all {
		seen[f.ID] = true
	}
	for i := 0; i < len(all); i++ {
		f := &all[i]
		f.By = state.ByStep
		if i < len(e.added) {
			f.By = e.by
		}
		if f.Content == nil && f.Err == nil {
			r.inspectSafely(ctx, l, f, e)
		}
		if !e.composing {
			continue
		}
		for _, p := range r.composingModels(f) {
			if p.Name != "" && !seen[p] {
				seen[p] = true
				all = append(all, state.Finding{ID: p})
			}
		}
	}
	return all
}

// warnNoEffect logs the fields of a configuration that have no effect.
func (r *Repository) warnNoEffect(c *layout.Content) {
	if c == nil {
		return
	}
	for _, f := range c.Config.NoEffect() {
		r.opts.Log.Warn(fmt.Sprintf("model '%s': %s", c.ID(), f.Msg))
	}
}

// inspectSafely is inspect with a panic as the error of the finding: what is wrong with the files of one
// model does not keep an operation from the others.
func (r *Repository) inspectSafely(ctx context.Context, l *layout.Listing, f *state.Finding, e edit) {
	defer func() {
		if p := recover(); p != nil {
			log.Panicked(r.opts.Log, "panic while reading a model", p, "model", f.ID)
			f.Content, f.Err = nil, status.New(status.Internal, "reading model '%s' panicked: %v", f.ID, p)
		}
	}()
	r.inspect(ctx, l, f, e)
}

// inspect completes the finding of one model, and reads the model if it must be loaded.
func (r *Repository) inspect(ctx context.Context, l *layout.Listing, f *state.Finding, e edit) {
	if !r.examine(ctx, l, f) {
		return
	}
	f.Broken = f.Broken && !e.kept[f.ID.Name]
	if e.restrict != nil {
		e.restrict(f)
	}
	need := r.mustLoad(l, f)
	if !need.Load() {
		return
	}
	if e.restrict != nil {
		l.Restrict(f.ID, f.Stamp)
	}
	f.Content, f.Err = l.Content(ctx, l.Model(f.ID), need.Override)
}

// examine compares a model in the store with the loaded one. It reports whether the model can be read.
func (r *Repository) examine(ctx context.Context, l *layout.Listing, f *state.Finding) bool {
	m := l.Model(f.ID)
	if m == nil {
		f.ListErr = l.Err
		return false
	}
	f.Listed, f.Ambiguous, f.Location = true, m.Ambiguous, m.Location
	if f.Ambiguous {
		return false
	}
	r.mu.Lock()
	f.Last = r.outcomes[f.ID]
	r.mu.Unlock()
	f.Broken = r.actual.Snapshot().Model(f.ID).Broken()
	f.Stamp, f.Err = l.Stamp(ctx, m)
	return f.Err == nil
}

// mustLoad says whether a model that was examined must be loaded. The steps of an ensemble are looked up last,
// because that may ask the store.
func (r *Repository) mustLoad(l *layout.Listing, f *state.Finding) state.Need {
	need := f.Need()
	if f.Reconnected = need.Why == state.Unchanged && r.reconnected(l, f.ID); f.Reconnected {
		return f.Need()
	}
	return need
}

// reconnected reports whether a step of an ensemble means another model than when the ensemble was read.
// With namespaces a name means the model of the ensemble's own path as soon as there is one.
func (r *Repository) reconnected(l *layout.Listing, id store.ID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.opts.Namespacing && r.desired.Has(id) && l.Relinked(r.desired.Content(id))
}

// composingModels returns the models of the steps of a found model, even if it is not loaded.
func (r *Repository) composingModels(f *state.Finding) []store.ID {
	if f.Content != nil {
		return f.Content.ComposingModels
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.desired.ComposingModels(f.ID)
}

// perform carries out a plan: it loads models at the same time, ensembles after their
// composing models, and then loads the ensembles that need the changed models again.
func (r *Repository) perform(ctx context.Context, actions []state.Action) result {
	out := result{map[store.ID]error{}, map[store.ID]error{}}
	done := map[store.ID]chan struct{}{}
	var changed []store.ID
	for _, a := range actions {
		switch a.Do {
		case state.VerbReport:
			out.reported[a.ID] = cmp.Or(out.reported[a.ID], a.Err)
			r.opts.Log.Error(a.Text, a.Details()...)
			continue
		case state.VerbRemove:
			r.removeModel(a.ID)
		case state.VerbLoad:
			done[a.ID] = make(chan struct{})
		}
		changed = append(changed, a.ID)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, a := range actions {
		if a.Do != state.VerbLoad {
			continue
		}
		wg.Go(func() {
			defer close(done[a.ID])
			for _, p := range a.After {
				<-done[p]
			}
			err := r.loadModel(ctx, a.Content)
			mu.Lock()
			defer mu.Unlock()
			out.errs[a.ID] = err
		})
	}
	wg.Wait()
	r.reloadEnsembles(ctx, changed)
	return out
}

// reloadEnsembles loads the ensembles that need changed models again.
func (r *Repository) reloadEnsembles(ctx context.Context, changed []store.ID) {
	var all []*layout.Content
	r.mu.Lock()
	for _, id := range r.desired.EnsemblesOf(changed) {
		c := r.desired.Content(id)
		c.Folder.Hold()
		all = append(all, c)
	}
	r.mu.Unlock()
	for _, c := range all {
		_ = r.loadModel(ctx, c) // loadModel logs the error
		c.Folder.Release()
	}
}

// removeModel takes a model out of service and forgets its last load.
func (r *Repository) removeModel(id store.ID) {
	r.mu.Lock()
	delete(r.outcomes, id)
	r.mu.Unlock()
	r.withdraw(id, false)
}

// withdraw takes all ready versions of a model out of service. The model may still be
// desired.
func (r *Repository) withdraw(id store.ID, stillDesired bool) {
	var retired []*model.LoadedVersion
	r.actual.Change(id, func(m *state.Model) {
		m.Desired = stillDesired
		retired = m.Unload()
	})
	for _, v := range retired {
		r.retire(id, v)
	}
}
