package instance

import (
	"context"
	"errors"
	"time"

	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/infer"
)

// The back-off doubles with each attempt, from minBackOff to maxBackOff. It starts at
// minBackOff again after an instance has served for longer than maxBackOff.
const (
	minBackOff = 100 * time.Millisecond
	maxBackOff = 30 * time.Second
)

// backOff returns how long to wait before the next attempt.
func (w *worker) backOff() time.Duration {
	w.life.Lock()
	defer w.life.Unlock()
	n := min(w.life.attempts, 16)
	w.life.attempts++
	return min(minBackOff<<n, maxBackOff)
}

// restart replaces the instance of a worker if it is broken. It returns false if it is not, when the group is
// drained, or when the instance is removed. The worker's goroutine calls it when it holds the slot and no batch
// runs.
func (g *Group) restart(ctx context.Context, w *worker) bool {
	w.life.Lock()
	broken := w.life.state == Broken
	w.life.Unlock()
	if !broken {
		return false
	}
	g.closeBroken(w)
	for g.pause(w, w.backOff()) {
		w.setState(Restarting, "")
		err := g.newInstance(ctx, w)
		if err == nil {
			g.restored(w)
			return true
		}
		w.setState(Broken, err.Error())
		g.closeBroken(w) // it may have broken during warm-up
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
	w.setState(Ready, "")
	g.source.Restore(w.slot)
	g.watch(w)
	g.opts.Stats.InstanceRestarted()
	g.opts.Log.Info("a broken instance was restarted", "model", g.opts.Name, "version", g.opts.Version, "instance", w.at.Name)
}

// closeBroken closes a broken instance. It first answers the unanswered kept requests, and
// takes all kept requests back after the close.
func (g *Group) closeBroken(w *worker) {
	w.stopWatching()
	w.kept.abort(func(r *infer.Request) error { return errBroken(r, w.at.Name) })
	if err := g.closeInstance(w); err != nil {
		g.opts.Log.Error("a broken instance did not close cleanly", "model", g.opts.Name, "version", g.opts.Version, "error", err)
	}
}

// waitKept waits, during a drain, for the requests that the backend keeps. An instance
// that breaks meanwhile answers no more requests.
func (g *Group) waitKept(w *worker) {
	w.life.Lock()
	broke := w.life.broke
	w.life.Unlock()
	select {
	case <-w.kept.whenEmpty():
	case <-broke:
		g.closeBroken(w)
	case <-g.batchContext.Done(): // the drain has given up
	}
}

func errBroken(r *infer.Request, name string) error {
	return status.New(status.Unavailable, "%sinstance '%s' of model '%s' broke before it answered", r.Tag(), name, r.ModelName)
}

// pause waits for d. It returns false when the group is drained or the instance removed meanwhile.
func (g *Group) pause(w *worker, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-g.closing:
		return false
	case <-w.removed:
		return false
	case <-t.C:
	}
	select {
	case <-g.closing: // at the same moment
		return false
	case <-w.removed:
		return false
	default:
		return true
	}
}

// watch starts a goroutine that marks the instance broken when the backend reports a break
// outside a call.
func (g *Group) watch(w *worker) {
	m, ok := w.instance.(backend.BreakNotifier)
	if !ok {
		return
	}
	w.stopWatch = make(chan struct{})
	stop := w.stopWatch
	w.watching.Go(func() {
		defer w.contain("the Broken method of an instance")
		broken := m.Broken()
		select {
		case err := <-broken:
			if err == nil {
				err = backend.ErrBroken
			}
			w.markBroken(err)
		case <-stop:
		}
	})
}

// stopWatching ends the goroutine of watch.
func (w *worker) stopWatching() {
	if w.stopWatch != nil {
		close(w.stopWatch)
		w.stopWatch = nil
	}
	w.watching.Wait()
}

// broken returns the error of a batch if it says that the instance is broken; else nil.
func broken(err error) error {
	if errors.Is(err, backend.ErrBroken) {
		return err
	}
	return nil
}
