package instance

import (
	"context"
	"errors"
	"fmt"
)

// Drain stops accepting requests, waits for queued, running and kept ones, and closes the
// instances and the model.
//
// When ctx ends first, Drain has timed out and returns an error. Queued requests, and kept
// requests that are unanswered, are answered Unavailable, and the context of running
// batches ends. Drain may then be called again. It then waits only for running batches,
// and takes kept requests back when it closes their instances.
func (g *Group) Drain(ctx context.Context) error {
	g.drainOnce.Do(func() { g.members.close(g.closing) })
	g.source.Close()
	if !g.wait(ctx) {
		g.timeoutOnce.Do(func() { close(g.drainTimedOut) })
		g.source.Abort()
		g.cancelBatches()
		g.abortKept()
		return fmt.Errorf("model '%s' version %s: instances still run: %w", g.opts.Name, g.opts.Version, context.Cause(ctx))
	}
	return g.closeAll()
}

// wait waits until no batch runs and no request is kept; after a drain has timed out, only
// until no batch runs. It returns false when ctx ends first.
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
		w.call(func() { err = g.closeContained(w.at.Name, old.Close) })
	}
	w.unbind()
	w.reclaim()
	return err
}

func (g *Group) closeAll() error {
	g.closeOnce.Do(func() {
		var errs []error
		for _, w := range g.members.all() {
			w.stopWatching()
			w.setState(Closed, "")
			errs = append(errs, g.closeInstance(w))
		}
		g.closeErr = errors.Join(append(errs, g.closeContained(g.opts.Name, g.opts.Model.Close))...)
		g.cancelBatches()
		g.source.Free()
	})
	return g.closeErr
}
