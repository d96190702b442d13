package instance

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Drain stops accepting requests, waits for queued and running ones, and closes the
// instances and the model. When ctx ends first, everything that waits is answered
// Unavailable, and so are the kept requests that are still unanswered. Running batches
// see their context end, and the error says that they still run; Drain may then be called
// again. From then on it waits for running batches only: kept requests are taken back
// when their instances are closed.
func (g *Group) Drain(ctx context.Context) error {
	g.drain.Do(func() { close(g.closing) })
	g.source.Close()
	if !g.wait(ctx) {
		g.drainTimeout.Do(func() { close(g.drainTimedOut) })
		g.source.Abort()
		g.abandon()
		g.abortKept()
		return fmt.Errorf("model '%s' version %s: instances still run: %w", g.opts.Name, g.opts.Version, context.Cause(ctx))
	}
	return g.closeAll()
}

// wait waits until nothing runs and nothing is kept; after a drain has timed out, until
// nothing runs. It returns false when ctx ends first.
func (g *Group) wait(ctx context.Context) bool {
	select {
	case <-g.allDone:
		return true
	case <-ctx.Done():
		return false
	case <-g.drainTimedOut:
	}
	select {
	case <-g.goroutinesDone:
		return true
	case <-ctx.Done():
		return false
	}
}

// closeInstance closes the instance of a worker, if it has one, and takes back the
// requests that it kept.
func (g *Group) closeInstance(w *worker) (err error) {
	w.instanceMu.Lock()
	old := w.instance
	w.instance = nil
	w.instanceMu.Unlock()
	if old != nil {
		err = g.closeContained(w.at.Name, old.Close)
	}
	w.reclaim()
	return err
}

func (g *Group) closeAll() error {
	g.close.Do(func() {
		var errs []error
		for _, w := range slices.Concat(g.workers, g.passive) {
			w.unwatch()
			w.move(Closed, "")
			errs = append(errs, g.closeInstance(w))
		}
		g.closed = errors.Join(append(errs, g.closeContained(g.opts.Name, g.opts.Model.Close))...)
		g.abandon()
		g.source.Free()
	})
	return g.closed
}
