package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"triton/pkg/fleetstate"
	"triton/server/infer"
)

// loadWait bounds how long the controller waits for a load while it holds its turn, and with it how long
// clients wait for the controller. A load that takes longer goes on without it.
const loadWait = 10 * time.Second

// loads are the loads of the controller, by model, that have not ended or whose end it has not seen.
type loads struct {
	mu  sync.Mutex
	all map[string]*load
}

// load is one load.
type load struct {
	config *string
	entry  fleetstate.Model // of the document
	since  time.Time
	done   chan struct{}
	err    error // set before done is closed
}

func (l *load) ended() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

var errEarlier = errors.New("an earlier load has just ended")

// load loads a model for an entry of the document. While an earlier load of the model goes on, it begins
// no other one.
func (c *Controller) load(ctx context.Context, a *Action, entry fleetstate.Model) error {
	c.loads.mu.Lock()
	l := c.loads.all[a.Model]
	begins := l == nil
	if begins {
		l = &load{config: a.config, entry: entry, since: time.Now(), done: make(chan struct{})}
		c.loads.all[a.Model] = l
		go func() {
			defer close(l.done)
			l.err = c.opts.Models.Load(ctx, a.Model, infer.LoadOptions{Config: l.config, Again: a.What == whatConfig})
		}()
	}
	c.loads.mu.Unlock()
	wait := time.NewTimer(max(loadWait-time.Since(l.since), 0))
	defer wait.Stop()
	select {
	case <-l.done:
		if !begins { // perhaps of another entry; the next look collects it and sees what is left
			return errEarlier
		}
		c.loads.forget(a.Model)
		return l.err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-wait.C:
		return fmt.Errorf("it has not ended within %v and goes on", loadWait)
	}
}

func (l *loads) forget(model string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.all, model)
}

// collect records the ends of the loads for which the controller did not wait. The next plan shows what
// is left to do.
func (c *Controller) collect() {
	c.loads.mu.Lock()
	defer c.loads.mu.Unlock()
	for model, l := range c.loads.all {
		if !l.ended() {
			continue
		}
		delete(c.loads.all, model)
		if l.err == nil {
			c.applied[model] = l.entry
			c.opts.Log.Info(fmt.Sprintf("state: model '%s' is loaded", model))
		} else {
			c.opts.Log.Error(fmt.Sprintf("state: load of model '%s' failed: %s", model, l.err))
		}
		for _, what := range []string{"model", "config", "versions", "revision"} {
			a := Action{Do: doLoad, Model: model, What: what}
			delete(c.failures, a.key()) // it may be tried again at once
		}
	}
}
