package access

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"triton/server/access/apikey"
	"triton/server/access/policy"
)

// rules are what a guard decides by. They are replaced as a whole.
type rules struct {
	policy *policy.Policy // nil: everybody may do everything
	keys   *apikey.Keys   // nil: there are none
	// generation grows with each change, also of the keys for tokens: then sessions prove their
	// identity again.
	generation uint64
}

// stamp changes when a file changes.
type stamp struct {
	at   time.Time
	size int64
}

func stampOf(name string) (s stamp, err error) {
	info, err := os.Stat(name)
	if err != nil {
		return s, err
	}
	return stamp{info.ModTime(), info.Size()}, nil
}

// replace changes the rules. Sessions that last prove their identity again.
func (g *Guard) replace(change func(*rules)) {
	g.changing.Lock()
	defer g.changing.Unlock()
	var next rules
	if old := g.rules.Load(); old != nil {
		next = *old
		next.generation++
	}
	change(&next)
	g.rules.Store(&next)
	g.quotas.Use(next.policy)
}

// files are the files of rules; empty: there is none.
func (g *Guard) files() [2]string { return [2]string{g.opts.Policy, g.opts.Keys} }

// loadFiles reads the files. Either all are good and the rules are replaced, or the errors
// list all mistakes and the earlier rules stay.
func (g *Guard) loadFiles() (errs []error) {
	var by *policy.Policy
	var keys *apikey.Keys
	if g.opts.Checks() {
		by = policy.Authenticated()
	}
	if name := g.opts.Policy; name != "" {
		text, err := os.ReadFile(name)
		if err == nil {
			by, err = policy.Parse(text)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("access policy %s: %w", name, err))
		}
	}
	if name := g.opts.Keys; name != "" {
		text, err := os.ReadFile(name)
		var entries []apikey.Entry
		if err == nil {
			entries, err = apikey.Parse(text)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("API keys %s: %w", name, err))
		} else {
			keys = apikey.NewKeys(entries)
		}
	}
	if len(errs) == 0 {
		g.replace(func(r *rules) { r.policy, r.keys = by, keys })
	}
	return errs
}

// interval is how often the files are looked at.
const interval = time.Second

// Run reads files again when they change, until ctx ends. A server of keys for tokens that does
// not answer delays neither the files nor the end.
func (g *Guard) Run(ctx context.Context) {
	var tokens sync.WaitGroup
	defer tokens.Wait()
	if g.tokens != nil {
		tokens.Go(func() { repeat(ctx, func() { g.reloadTokens(ctx) }) })
	}
	repeat(ctx, g.reloadFiles)
}

// repeat calls f now and after each interval, until ctx ends.
func repeat(ctx context.Context, f func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		f()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// reloadFiles reads the files if one has changed. Files with mistakes change nothing.
func (g *Guard) reloadFiles() {
	stamps := g.stamps
	for i, name := range g.files() {
		if name == "" {
			continue
		}
		at, err := stampOf(name)
		if err == nil {
			stamps[i], g.missing[i] = at, 0
			continue
		}
		// A file that is missing for a moment, while it is replaced, is no change.
		if g.missing[i]++; g.missing[i] == 2 {
			g.failed(err)
		}
	}
	if stamps == g.stamps {
		return
	}
	g.stamps = stamps
	if err := errors.Join(g.loadFiles()...); err != nil {
		g.failed(err)
		return
	}
	g.log.Info("the rules of access were read again")
}

func (g *Guard) failed(err error) {
	g.reloadFailures.Add(1)
	g.log.Error("the rules of access cannot be read; the earlier ones stay in force", "error", err)
}

// reloadTokens loads the keys for tokens if they may have changed.
func (g *Guard) reloadTokens(ctx context.Context) {
	changed, err := g.tokens.Refresh(ctx)
	switch {
	case err == nil || ctx.Err() != nil:
	case g.tokens.Ready():
		g.log.Error("the keys for tokens cannot be loaded; the earlier ones stay in force", "error", err)
	default:
		g.log.Error("the keys for tokens cannot be loaded: tokens are refused until they can", "error", err)
	}
	if changed {
		g.replace(func(*rules) {})
	}
}
