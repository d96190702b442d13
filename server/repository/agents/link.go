package agents

import (
	"context"
	"maps"
	"slices"
	"time"

	"triton/pkg/status"
	"triton/server/repository/agents/library"
)

// link is a model in an agent that is in a library.
type link struct {
	name      string
	libraries *libraries
	shared    *shared
	model     *library.Model

	begun bool // the agent was told of the load
	last  library.Action
	hangs bool // a call has not returned in time: no other is made
}

// act tells the agent of an action.
func (l *link) act(ctx context.Context, limit time.Duration, a library.Action) error {
	l.begun, l.last = true, a
	return l.call(ctx, limit, a.String(), func() error { return l.model.Act(a) })
}

// missing returns the actions that complete the life of the model.
func (l *link) missing() []library.Action {
	if !l.begun {
		return nil
	}
	switch l.last {
	case library.Load:
		return []library.Action{library.LoadFail}
	case library.LoadComplete:
		return []library.Action{library.Unload, library.UnloadComplete}
	case library.Unload:
		return []library.Action{library.UnloadComplete}
	case library.LoadFail, library.UnloadComplete:
	}
	return nil
}

// call calls the agent and waits for it, for a time. A call that does not return in time is left
// running; if it returns later, the model ends then.
func (l *link) call(ctx context.Context, limit time.Duration, what string, do func() error) error {
	if l.hangs {
		return nil // reported when it began to hang
	}
	done := make(chan error, 1)
	go func() { done <- do() }()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		l.abandon(done, what)
		return status.New(status.Unavailable, "repository agent '%s' did not finish %s within %s", l.name, what, limit)
	case <-ctx.Done():
		l.abandon(done, what)
		return status.New(status.Unavailable, "repository agent '%s' did not finish %s: %w", l.name, what, context.Cause(ctx))
	}
}

// abandon ends the model when the call under way returns, if it ever does.
func (l *link) abandon(done <-chan error, what string) {
	l.hangs = true
	missing := l.missing()
	go func() {
		<-done //nolint:errcheck // the caller has reported that it has not finished
		if what != finalization {
			for _, a := range missing {
				_ = l.model.Act(a) // the caller has reported the first error, and has gone on
			}
			_ = l.model.Close()
		}
		l.libraries.release(l.shared)
	}()
}

// finalization is the last call of a model, as messages name it.
const finalization = "its finalization"

// parameters returns the parameters of an agent by name.
func parameters(all map[string]string) [][2]string {
	var pairs [][2]string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		pairs = append(pairs, [2]string{name, all[name]})
	}
	return pairs
}
