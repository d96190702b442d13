package repository

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"triton/pkg/log"
	"triton/pkg/status"
	"triton/server/repository/layout"
	"triton/server/repository/state"
	"triton/server/store"
)

// Poll compares the store with the loaded models once. It loads models that are new or were
// changed, and unloads models that the store no longer has. What does not stand still for the
// settle time, or has a file that is not complete, is left for a later poll. A failed load is only
// logged, and tried again by the next poll. If the store cannot be listed, Poll changes nothing and
// returns the error.
func (r *Repository) Poll(ctx context.Context) error {
	return r.pollSafely(ctx, pollOptions{retry: true, wait: true})
}

// pollOptions configure a poll.
type pollOptions struct {
	retry bool // load again what failed and has not changed since
	wait  bool // for the loads, which otherwise go on after the poll
}

// pollSafely polls once. A panic becomes an error.
func (r *Repository) pollSafely(ctx context.Context, o pollOptions) error {
	if !r.hasPolls() {
		return status.New(status.Unavailable, "polling is disabled")
	}
	return r.runTask(ctx, func(ctx context.Context) (err error) {
		defer func() {
			if p := recover(); p != nil {
				log.Panicked(r.opts.Log, "panic while polling the model repository", p)
				err = status.New(status.Internal, "the poll panicked: %v", p)
			}
		}()
		return r.pollOnce(ctx, o)
	})
}

// hasPolls reports whether the control mode has polls.
func (r *Repository) hasPolls() bool {
	return r.opts.Control == ControlPoll || r.opts.Control == ControlAuto
}

// pollOnce polls, and waits for the loads if o says so.
func (r *Repository) pollOnce(ctx context.Context, o pollOptions) error {
	running, err := r.beginPoll(ctx, o)
	if o.wait {
		running.Wait()
	}
	return errors.Join(err, ctx.Err())
}

// beginPoll compares the store with the loaded models and starts the changes. running ends with them.
func (r *Repository) beginPoll(ctx context.Context, o pollOptions) (running *sync.WaitGroup, err error) {
	r.polling.Lock()
	defer r.polling.Unlock()
	running = &sync.WaitGroup{}
	l := r.list(ctx)
	defer l.Release()
	if l.Err != nil {
		return running, l.Err
	}
	waits := map[store.ID]*state.SettleWait{}
	p := pollLoads{r: r, running: running, ctx: ctx}
	if !o.wait {
		p.ctx = r.life // the loads outlive the poll
	}
	removed := r.missing(l, waits)
	for _, id := range removed {
		delete(r.lastSeen, id)
	}
	restrict := r.observeAndRestrict(o.retry, waits)
	if r.demand != nil {
		err = p.onDemand(ctx, l, removed, restrict)
	} else {
		found := r.survey(ctx, l, edit{by: state.ByPoll, added: allFindings(l), restrict: restrict})
		p.startGroups(found, removed)
	}
	r.mu.Lock()
	r.waits = waits
	r.mu.Unlock()
	return running, err
}

// observeAndRestrict is the restriction of a poll: it may load what stands still and, without retry, was not
// seen before. It also records what it saw: in lastSeen, waits and, through forgetFailure, outcomes. The
// caller holds r.polling.
func (r *Repository) observeAndRestrict(retry bool, waits map[store.ID]*state.SettleWait) restriction {
	settle := r.settledRestriction(waits)
	return func(f *state.Finding) {
		if settle(f); f.Unsettled {
			return
		}
		r.forgetFailure(f.ID, f.Stamp)
		f.SeenBefore = !retry && r.lastSeen[f.ID].Same(f.Stamp)
		r.lastSeen[f.ID] = f.Stamp
	}
}

// settledRestriction lets an operation load only what stands still, and records in waits what does not. The
// caller holds r.polling.
func (r *Repository) settledRestriction(waits map[store.ID]*state.SettleWait) restriction {
	return func(f *state.Finding) {
		var w *state.SettleWait
		f.Stamp, w, f.Unsettled = r.settling.Settled(f.ID, time.Now(), f.Stamp, loadedStamp(f.Last))
		if w != nil {
			r.logWait(f.ID, w)
			waits[f.ID] = w
		}
	}
}

// forgetFailure forgets the error of the last load if the store no longer has what failed: it has what serves.
func (r *Repository) forgetFailure(id store.ID, found store.Stamp) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last := r.outcomes[id]; last != nil && last.Err != nil && last.Stamp.Same(found) {
		r.outcomes[id] = last.Forgiven()
	}
}

// loadedStamp returns the stamp of the content that serves; nil when there is none.
func loadedStamp(last *state.Outcome) store.Stamp {
	if last == nil {
		return nil
	}
	return last.Stamp
}

// missing returns the models that a listing no longer has for the settle time.
func (r *Repository) missing(l *layout.Listing, waits map[store.ID]*state.SettleWait) (removed []store.ID) {
	all := r.known()
	for _, m := range l.Models {
		if !m.Ambiguous {
			delete(all, m.ID)
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(all), store.Compare) {
		if w := r.settling.Missing(id, time.Now()); w != nil {
			waits[id] = w
			continue
		}
		removed = append(removed, id)
	}
	return removed
}

// logWait logs what a poll waits for, once for each change.
func (r *Repository) logWait(id store.ID, w *state.SettleWait) {
	r.mu.Lock()
	before := r.waits[id]
	r.mu.Unlock()
	if !w.Same(before) {
		r.opts.Log.Debug(fmt.Sprintf("model '%s': %s", id, w.Text(time.Now())))
	}
}

// nextPoll returns when something that polls wait for will stand still; zero: nothing is known to.
func (r *Repository) nextPoll() (at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.waits {
		if !w.Until.IsZero() && (at.IsZero() || w.Until.Before(at)) {
			at = w.Until
		}
	}
	return at
}

// startRestriction is that of the start: in poll control, versions with files that are not complete are left for
// a poll if the model has others. It records in lastSeen what it saw, so that the polls load it again only when
// it changes, or to retry.
func (r *Repository) startRestriction() restriction {
	if r.opts.Control != ControlPoll {
		return nil
	}
	return func(f *state.Finding) {
		restrictToComplete(f)
		r.polling.Lock()
		defer r.polling.Unlock()
		r.lastSeen[f.ID] = f.Stamp
	}
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
