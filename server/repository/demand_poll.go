package repository

import (
	"context"
	"maps"
	"slices"

	"triton/server/infer"
	"triton/server/repository/layout"
	"triton/server/repository/state"
	"triton/server/store"
)

// restrictToComplete is the restriction of a first load: the versions with a file that is not complete are
// left out if there are others.
func restrictToComplete(f *state.Finding) { f.Stamp = state.CompleteVersions(f.Stamp) }

// onDemand loads the loaded models again whose files have changed and stand still, and unloads
// the removed ones. Each model is an operation of its own, because requests load and unload others
// meanwhile.
func (p *pollLoads) onDemand(ctx context.Context, l *layout.Listing, removed []store.ID, restrict restriction) error {
	r := p.r
	for _, id := range removed {
		p.update(id, func() {
			if err := r.unload(p.ctx, id, false); err != nil {
				r.opts.Log.Error("unloading a model that the repository no longer has", "model", id, "error", err)
			}
		})
	}
	for _, id := range slices.SortedFunc(maps.Keys(r.known()), store.Compare) {
		if r.changed(ctx, l, id, restrict) {
			p.update(id, func() {
				o := infer.LoadOptions{Config: r.overrideOf(id)}
				_ = r.loadFor(p.ctx, state.ByDemand, id, o, r.reloadRestriction(id)) // the log has the error
			})
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	r.demand.Changed()
	return nil
}

// update changes one model, unless an earlier poll still does: then a later one does.
func (p *pollLoads) update(id store.ID, do func()) {
	r := p.r
	if _, busy := r.updating.LoadOrStore(id, true); busy {
		delete(r.lastSeen, id)
		r.leftBehind.Store(true)
		return
	}
	started := p.spawn(func() {
		defer r.demand.Changed()
		defer r.updating.Delete(id)
		do()
	})
	if !started {
		r.updating.Delete(id)
	}
}

// changed reports whether a poll is to load a loaded model again. The next request loads a model
// that is not loaded.
func (r *Repository) changed(ctx context.Context, l *layout.Listing, id store.ID, restrict restriction) bool {
	f := state.Finding{ID: id}
	if !r.examine(ctx, l, &f) || f.Last == nil || r.actual.Snapshot().Model(id).Newest() == nil {
		return false
	}
	restrict(&f)
	return f.Need().Load()
}

// reloadRestriction is that of a poll that loads a model again. The model may have been unloaded
// to make room since: then it stays unloaded. The models of its steps that are not loaded are loaded
// as for a request.
func (r *Repository) reloadRestriction(id store.ID) restriction {
	return func(f *state.Finding) {
		switch serves := r.actual.Snapshot().Model(f.ID).Newest() != nil; {
		case serves:
			r.polling.Lock()
			defer r.polling.Unlock()
			r.settledRestriction(map[store.ID]*state.SettleWait{})(f)
		case f.ID == id:
			f.Unloaded = true
		default:
			restrictToComplete(f)
		}
	}
}
