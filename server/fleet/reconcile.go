package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"triton/pkg/fleetstate"
)

// The time after which a failed action is tried again doubles with each failure. A new document
// is tried at once.
const (
	firstRetry = time.Second
	maxRetry   = 5 * time.Minute
)

// failure is the last failure of an action.
type failure struct {
	reason string
	wait   time.Duration
	until  time.Time
}

// reconcile carries out the actions that are due, and returns the reasons of those that failed, now
// or before.
func (c *Controller) reconcile(ctx context.Context, d *fleetstate.Document) (failed []string) {
	c.collect()
	actions := c.plan(ctx, d)
	c.recordPinned(d)
	var due []*Action
	planned := map[string]bool{}
	for i := range actions {
		a := &actions[i]
		planned[a.key()] = true
		if f := c.failures[a.key()]; f != nil && time.Now().Before(f.until) {
			failed = append(failed, f.reason)
			continue
		}
		due = append(due, a)
	}
	for key := range c.failures {
		if !planned[key] {
			delete(c.failures, key)
		}
	}
	c.perform(ctx, d, due)
	for _, a := range due {
		if reason := c.note(ctx, a); reason != "" {
			failed = append(failed, reason)
		}
	}
	return failed
}

// note records the outcome of an action, and returns why it failed.
func (c *Controller) note(ctx context.Context, a *Action) string {
	f := c.failures[a.key()]
	switch {
	case a.Error == "":
		delete(c.failures, a.key())
		c.opts.Log.Info(fmt.Sprintf("state: %s%s", a.describe(), a.was()))
		return ""
	case ctx.Err() != nil:
		return context.Cause(ctx).Error()
	case f == nil:
		f = &failure{wait: firstRetry}
		c.failures[a.key()] = f
	default:
		f.wait = min(2*f.wait, maxRetry)
	}
	reason := fmt.Sprintf("%s failed: %s", a.describe(), a.Error)
	if reason != f.reason { // a failure for the same reason is logged once
		c.opts.Log.Error("state: " + reason)
	}
	f.reason, f.until = reason, time.Now().Add(f.wait)
	return reason
}

func (a *Action) describe() string {
	switch {
	case a.Model == "":
		return a.Do + " " + a.What + " " + a.name
	case a.Do == doSet:
		return fmt.Sprintf("set %s of model '%s'", a.What, a.Model)
	}
	return fmt.Sprintf("%s model '%s'", a.Do, a.Model)
}

func (a *Action) was() string {
	if a.What == "model" {
		return " (" + a.From + ")"
	}
	return " (" + a.What + " differs)"
}

// perform carries out actions: unloads, then loads, several at a time, then settings. The error of
// each is left in it. Actions that have an error already are left out.
func (c *Controller) perform(ctx context.Context, d *fleetstate.Document, all []*Action) {
	do := func(a *Action) {
		if a.Error != "" {
			return
		}
		if err := c.do(ctx, d, a); err != nil {
			a.Error = strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
		}
	}
	for _, a := range all {
		if a.Do == doUnload {
			do(a)
		}
	}
	var loads sync.WaitGroup
	places := make(chan struct{}, max(c.opts.Loads, 1))
	for _, a := range all {
		if a.Do == doLoad {
			loads.Go(func() {
				places <- struct{}{}
				defer func() { <-places }()
				do(a)
			})
		}
	}
	loads.Wait()
	for _, a := range all {
		switch {
		case a.Do == doSet:
			do(a)
		case a.Do == doLoad && a.Error == "":
			c.applied[a.Model] = d.Models[a.Model]
		}
	}
}

func (c *Controller) do(ctx context.Context, d *fleetstate.Document, a *Action) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	setting := map[string]json.RawMessage{a.name: a.value}
	switch {
	case a.Do == doLoad:
		return c.load(ctx, a, d.Models[a.Model])
	case a.Do == doUnload:
		return leave(ctx, func() error { return c.opts.Models.Unload(ctx, a.Model, false) })
	case a.setsNext():
		return c.setNext(a)
	case a.What == "traffic":
		return c.opts.Traffic.SetTraffic(ctx, a.Model, a.value)
	case a.What == "trace":
		return c.opts.Settings.SetTrace(a.Model, setting)
	default:
		return c.opts.Settings.SetLog(setting)
	}
}
