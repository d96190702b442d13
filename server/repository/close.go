package repository

import (
	"context"

	"triton/server/model"
	"triton/server/repository/state"
	"triton/server/store"
)

// openVersions returns the versions that are not closed.
func (r *Repository) openVersions() []*model.LoadedVersion {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []*model.LoadedVersion
	for _, m := range r.actual.Snapshot().Models() {
		all = append(all, m.ReadyVersions()...)
	}
	for v := range r.retiring {
		all = append(all, v)
	}
	return all
}

// retire closes a version that is out of service, once its requests have ended. It does not wait for
// them, but for the repository agents that are told of the unload. The channel is closed when the
// version is closed or left to a drain.
func (r *Repository) retire(id store.ID, v *model.LoadedVersion) <-chan struct{} {
	r.mu.Lock()
	r.retiring[v] = id
	r.mu.Unlock()
	v.From().Agents.Retire(v) // tells them of the unload after the last version
	v.Retire()
	done := make(chan struct{})
	if !r.tasks.begin() {
		close(done) // a drain closes it
		return done
	}
	go func() {
		defer close(done)
		defer r.tasks.done()
		select {
		case <-v.Drained():
			if err := r.closeVersion(r.life, v); err != nil && r.life.Err() == nil {
				r.opts.Log.Error("closing a model version", "model", v.Label(), "version", v.Number(), "error", err)
			}
		case <-r.life.Done(): // a drain closes it
		}
	}()
	return done
}

// closeVersion closes a version once its requests have ended.
func (r *Repository) closeVersion(ctx context.Context, v *model.LoadedVersion) error {
	v.From().Agents.Retire(v) // for a version that serves until the drain; retire has done it for the others
	closed, err := r.builder.Close(ctx, v)
	if !closed {
		return err
	}
	r.mu.Lock()
	id, retiring := r.retiring[v]
	r.mu.Unlock()
	if retiring {
		r.actual.Change(id, func(m *state.Model) {
			if at := m.Version(v.Number()); at != nil && at.Loaded == v && at.State == state.VersionUnloading {
				at.Unloaded()
			}
		})
	}
	r.mu.Lock()
	r.memory.forget(v)
	delete(r.retiring, v) // last, so that the index does not show a closed version as unloading
	r.mu.Unlock()
	if r.opts.Closed != nil {
		r.opts.Closed()
	}
	if r.demand != nil {
		r.demand.Wake()
	}
	return err
}
