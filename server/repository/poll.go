package repository

import (
	"context"
	"maps"
	"slices"

	"triton/pkg/status"
	"triton/server/repository/desired"
	"triton/server/store"
)

// Poll compares the store with the loaded models once. It loads models that are new or were
// changed, and unloads models that the store no longer has. A failed load is only logged,
// and tried again by the next poll. If the store cannot be listed, Poll changes nothing and
// returns the error.
func (r *Repository) Poll(ctx context.Context) error {
	if r.opts.Control != ControlPoll && r.opts.Control != ControlAuto {
		return status.New(status.Unavailable, "polling is disabled")
	}
	return r.runTask(ctx, r.poll)
}

func (r *Repository) poll(ctx context.Context) error {
	r.polling.Lock()
	defer r.polling.Unlock()
	l := r.list(ctx)
	defer l.Release()
	if l.Err != nil {
		return l.Err
	}
	if r.demand != nil {
		return r.pollOnDemand(ctx, l)
	}
	missing := r.known()
	for _, m := range l.Models {
		if !m.Ambiguous {
			delete(missing, m.ID)
		}
	}
	removed := slices.SortedFunc(maps.Keys(missing), store.Compare)
	r.reconcile(ctx, l, edit{by: desired.ByPoll, added: allFindings(l), removed: removed})
	return nil
}

// known returns the models that were loaded, or failed to load.
func (r *Repository) known() map[store.ID]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make(map[store.ID]bool, len(r.outcomes))
	for id := range r.outcomes {
		all[id] = true
	}
	return all
}
