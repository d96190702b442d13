package instance

import (
	"sync"

	"triton/pkg/log"
	"triton/pkg/status"
	"triton/server/backend"
)

// CheckReady asks all instances that have a readiness check of their own, at the same
// time, and returns the error of the first one, in the order of the configuration, that
// takes no requests. Broken instances are not asked; Ready accounts for them.
func (g *Group) CheckReady() error {
	var checks []func() error
	for _, w := range g.members.current() {
		if c := w.checker(); c != nil {
			checks = append(checks, func() error { return g.checkReady(w, c) })
		}
	}
	if len(checks) == 0 {
		return nil
	}
	errs := make([]error, len(checks))
	var asking sync.WaitGroup
	for i, check := range checks[1:] {
		asking.Go(func() { errs[i+1] = check() })
	}
	errs[0] = checks[0]()
	asking.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// checker returns the instance if it has a readiness check and is not broken; else nil. The
// instance may be closed while it is asked.
func (w *worker) checker() backend.ReadinessChecker {
	w.life.Lock()
	state := w.life.state
	w.life.Unlock()
	if w.slot != nil && state != Ready { // the state of a passive instance never changes
		return nil
	}
	w.instanceMu.RLock()
	defer w.instanceMu.RUnlock()
	c, _ := w.instance.(backend.ReadinessChecker)
	return c
}

// checkReady asks one instance; a panic of the backend becomes an error.
func (g *Group) checkReady(w *worker, c backend.ReadinessChecker) (err error) {
	defer func() {
		if p := recover(); p != nil {
			log.Panicked(g.opts.Log, "panic in the readiness check of an instance", p, "model", g.opts.Name, "version", g.opts.Version, "instance", w.at.Name)
			err = status.New(status.Internal, "the readiness check of instance '%s' panicked", w.at.Name)
		}
	}()
	return c.CheckReady()
}
