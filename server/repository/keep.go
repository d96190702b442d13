package repository

import (
	"context"
	"time"

	"triton/server/store"
)

// watcher tells of changes in folders.
type watcher interface {
	Follow(folders []string)
	Changed() <-chan struct{}
	Close()
}

// Bounds of the polls that changes cause. A folder that is being written causes thousands.
const (
	pollDelay  = 50 * time.Millisecond // from a change to the poll
	minPollGap = 100 * time.Millisecond
)

// KeepPolling polls until ctx ends: in each interval, soon after a change in a local folder, and when what a
// poll waited for stands still. It does not wait for the loads of a poll. What failed to load, and did not
// change, is loaded again by the polls of the interval only. report is called with the error of a poll.
func (r *Repository) KeepPolling(ctx context.Context, every time.Duration, report func(error)) {
	folders := func() []string { return nil }
	if s, ok := r.reader.Store.(interface{ Roots() []string }); ok {
		folders = s.Roots
	}
	w := r.newWatcher()
	defer w.Close()
	tick := time.NewTicker(every)
	defer tick.Stop()
	soon := alarm{timer: time.NewTimer(0)} // what was changed since the start
	defer soon.timer.Stop()
	var last time.Time
	for {
		interval := false
		select {
		case <-ctx.Done():
			return
		case <-w.Changed():
			soon.set(latest(time.Now().Add(pollDelay), last.Add(max(r.settling.Time/2, minPollGap))))
			continue
		case <-r.loadEnded:
			soon.set(last.Add(pollDelay))
			continue
		case <-soon.timer.C:
			soon.at = time.Time{}
		case <-tick.C:
			interval = true
		}
		w.Follow(folders()) // first: what changes from now on is told
		if err := r.pollSafely(ctx, pollOptions{retry: interval}); err != nil && ctx.Err() == nil {
			report(err)
		}
		last = time.Now()
		if at := r.nextPoll(); !at.IsZero() {
			soon.set(latest(at, last.Add(pollDelay)))
		}
	}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// alarm is a timer that is set to the earliest of several times.
type alarm struct {
	timer *time.Timer
	at    time.Time // zero: not set
}

func (a *alarm) set(at time.Time) {
	if a.at.IsZero() || at.Before(a.at) {
		a.at = at
		a.timer.Reset(time.Until(at))
	}
}

func (r *Repository) systemWatcher() watcher { return store.NewWatcher(r.opts.Log) }
