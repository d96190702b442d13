package access

import (
	"context"
	"errors"
	"fmt"
	"os"
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

// loadFiles reads the files. Either all are good and the rules are replaced, or the errors
// list all mistakes and the earlier rules stay.
func (g *Guard) loadFiles() (errs []error) {
	next := &rules{}
	if g.opts.Checks() {
		next.policy = policy.Authenticated()
	}
	if name := g.opts.Policy; name != "" {
		text, err := os.ReadFile(name)
		if err == nil {
			next.policy, err = policy.Parse(text)
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
			next.keys = apikey.NewKeys(entries)
		}
	}
	if len(errs) == 0 {
		if old := g.rules.Load(); old != nil {
			next.generation = old.generation + 1
		}
		g.rules.Store(next)
	}
	return errs
}

// interval is how often the files are looked at.
const interval = time.Second

// Run reads files again when they change, until ctx ends.
func (g *Guard) Run(ctx context.Context) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		g.Reload()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Reload reads the files that have changed. Files with mistakes change nothing. It is called by
// one goroutine at a time.
func (g *Guard) Reload() {
	stamps, changed := g.stamps, false
	for i, name := range []string{g.opts.Policy, g.opts.Keys} {
		if name == "" {
			continue
		}
		// A file that is missing for a moment, while it is replaced, is no change.
		if s, err := stampOf(name); err == nil && s != stamps[i] {
			stamps[i], changed = s, true
		}
	}
	if changed && stamps != g.stamps {
		g.stamps = stamps
		if err := errors.Join(g.loadFiles()...); err != nil {
			g.reloadFailures.Add(1)
			g.log.Error("the rules of access have mistakes; the earlier ones stay in force", "error", err)
		} else if g.loaded {
			g.log.Info("the rules of access were read again")
		}
	}
	g.loaded = true
	if g.tokens == nil {
		return
	}
	changed, err := g.tokens.Refresh()
	if err != nil {
		g.log.Error("the keys for tokens cannot be loaded; the earlier ones stay in force for a day", "error", err)
	}
	if changed {
		next := *g.rules.Load()
		next.generation++
		g.rules.Store(&next)
	}
}
