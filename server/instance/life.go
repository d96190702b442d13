package instance

import (
	"context"
	"errors"
	"time"

	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/infer"
)

// State is where an instance is in its life.
//
//	from        event                                             to
//	Starting    made and warmed up                                Ready
//	Starting    could not be made: the whole group is not         Closed
//	Ready       its call panicked or returned ErrBroken           Broken
//	Ready       it said so while it was idle (backend.BreakNotifier)     Broken
//	Broken      the old one is closed, the back-off is over       Restarting
//	Restarting  made and warmed up                                Ready
//	Restarting  could not be made                                 Broken
//	any         the group is drained                              Closed
//
// Only a Ready instance gets batches. docs/adr/0010-instance-life.md says what
// becomes of the requests.
type State uint8

// The states.
const (
	Starting State = iota
	Ready
	Broken
	Restarting
	Closed
)

// String is the state in lower case.
func (s State) String() string {
	return [...]string{Starting: "starting", Ready: "ready", Broken: "broken", Restarting: "restarting", Closed: "closed"}[s]
}

// Life is what is known of one instance.
type Life struct {
	Name     string
	State    State
	Reason   string // why it is Broken or Restarting
	Restarts int    // how often it was replaced
}

// The back-off doubles with each attempt. An instance that has served for the
// longest of them begins again with the shortest.
const (
	minBackOff = 100 * time.Millisecond
	maxBackOff = 30 * time.Second
)

// Instances lists the instances that take requests, in the order in which they were
// configured.
func (g *Group) Instances() []Life {
	all := make([]Life, len(g.workers))
	for i, w := range g.workers {
		w.life.Lock()
		all[i] = Life{Name: w.at.Name, State: w.life.state, Reason: w.life.reason, Restarts: w.life.restarts}
		w.life.Unlock()
	}
	return all
}

// move changes the state, unless the instance is closed.
func (w *worker) move(to State, reason string) {
	w.life.Lock()
	defer w.life.Unlock()
	if w.life.state == Closed {
		return
	}
	w.life.state, w.life.reason = to, reason
	if to == Ready {
		w.life.since, w.life.broke = infer.Now(), make(chan struct{})
	}
}

// breakDown takes an instance out of service, once. Whoever runs a batch on it
// goes on; nothing new begins.
func (w *worker) breakDown(why error) {
	w.life.Lock()
	if w.life.state != Ready {
		w.life.Unlock()
		return
	}
	w.life.state, w.life.reason = Broken, why.Error()
	close(w.life.broke)
	if infer.Now()-w.life.since > int64(maxBackOff) {
		w.life.attempts = 0
	}
	w.life.Unlock()
	w.group.opts.Stats.InstanceBroken()
	w.group.opts.Log.Error("an instance broke and is taken out of service until it is restarted", "model", w.group.opts.Name,
		"version", w.group.opts.Version, "instance", w.at.Name, "reason", why)
	w.group.source.Retire(w.seat)
}

// backOff is how long to wait before the next attempt.
func (w *worker) backOff() time.Duration {
	w.life.Lock()
	defer w.life.Unlock()
	n := min(w.life.attempts, 16)
	w.life.attempts++
	return min(minBackOff<<n, maxBackOff)
}

// restart replaces the instance of a worker that broke. It reports whether the
// worker goes on; else the group is drained. The worker's goroutine calls it when
// it has the slot and no batch runs.
func (g *Group) restart(ctx context.Context, w *worker) bool {
	w.life.Lock()
	broken := w.life.state == Broken
	w.life.Unlock()
	if !broken {
		return false
	}
	g.discard(w)
	for g.pause(w.backOff()) {
		w.move(Restarting, "")
		err := g.newInstance(ctx, w)
		if err == nil {
			g.restored(w)
			return true
		}
		w.move(Broken, err.Error())
		g.discard(w) // it may have broken while it warmed up
		g.opts.Log.Error("a broken instance could not be restarted", "model", g.opts.Name, "version", g.opts.Version,
			"instance", w.at.Name, "error", err)
	}
	return false
}

// restored brings an instance back into service.
func (g *Group) restored(w *worker) {
	w.life.Lock()
	w.life.restarts++
	w.life.Unlock()
	w.move(Ready, "")
	g.source.Restore(w.seat)
	g.watch(w)
	g.opts.Stats.InstanceRestarted()
	g.opts.Log.Info("a broken instance was restarted", "model", g.opts.Name, "version", g.opts.Version, "instance", w.at.Name)
}

// discard closes a broken instance. What it still owes an answer is answered
// first; what it kept is taken back when it is closed.
func (g *Group) discard(w *worker) {
	w.unwatch()
	w.kept.abort(func(r *infer.Request) error { return errBroken(r, w.at.Name) })
	if err := g.closeInstance(w); err != nil {
		g.opts.Log.Error("a broken instance did not close cleanly", "model", g.opts.Name, "version", g.opts.Version, "error", err)
	}
}

// linger waits, in a drain, for what the engine keeps. An instance that breaks
// meanwhile answers nothing any more.
func (g *Group) linger(w *worker) {
	w.life.Lock()
	broke := w.life.broke
	w.life.Unlock()
	select {
	case <-w.kept.empty():
	case <-broke:
		g.discard(w)
	case <-g.life.Done(): // the drain has given up
	}
}

func errBroken(r *infer.Request, name string) error {
	return status.New(status.Unavailable, "%sinstance '%s' of model '%s' broke before it answered", r.Tag(), name, r.ModelName)
}

// pause waits. It reports false when the group is drained meanwhile.
func (g *Group) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-g.closing:
		return false
	case <-t.C:
	}
	select {
	case <-g.closing: // at the same moment
		return false
	default:
		return true
	}
}

// watch hears of an instance that breaks while it is idle.
func (g *Group) watch(w *worker) {
	m, ok := w.instance.(backend.BreakNotifier)
	if !ok {
		return
	}
	w.stopWatch = make(chan struct{})
	stop := w.stopWatch
	w.watcher.Go(func() {
		defer w.contain("an instance that is asked whether it broke")
		broken := m.Broken()
		select {
		case err := <-broken:
			if err == nil {
				err = backend.ErrBroken
			}
			w.breakDown(err)
		case <-stop:
		}
	})
}

// unwatch ends what watch began.
func (w *worker) unwatch() {
	if w.stopWatch != nil {
		close(w.stopWatch)
		w.stopWatch = nil
	}
	w.watcher.Wait()
}

// broken is the error of a batch whose instance is broken; nil when it is not.
func broken(err error) error {
	if errors.Is(err, backend.ErrBroken) {
		return err
	}
	return nil
}
