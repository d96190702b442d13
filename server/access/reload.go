package access

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"triton/server/access/policy"
)

// rules are what a guard decides by. They are replaced as a whole.
type rules struct {
	policy *policy.Policy // nil: everybody may do everything
	keys   *APIKeys       // nil: there are none
	// generation grows with each change, also of the keys for tokens: then sessions prove their
	// identity again.
	generation uint64
}

// ruleFile is a file of rules. Its content is compared, not its time and size: a file that is
// replaced by one with the same stamp is a change.
type ruleFile struct {
	name, noun string
	// apply parses the content and returns the change of the rules.
	apply func(text []byte) (func(*rules), error)

	known   bool // sum is set
	broken  bool // the content of sum has mistakes
	sum     [sha256.Size]byte
	missing int // how often it could not be read, one time after the other
	// problem is why the last good content is in force instead of the present one; empty: it is not.
	problem string
}

// maxRuleFile bounds the files of rules, in bytes.
const maxRuleFile = 16 << 20

// newFiles returns the files of the options.
func (g *Guard) newFiles() (files []*ruleFile) {
	if g.opts.Policy != "" {
		files = append(files, &ruleFile{name: g.opts.Policy, noun: "access policy", apply: func(text []byte) (func(*rules), error) {
			p, err := policy.Parse(text)
			return func(r *rules) { r.policy = p }, err
		}})
	}
	if g.opts.Keys != "" {
		files = append(files, &ruleFile{name: g.opts.Keys, noun: "API keys", apply: func(text []byte) (func(*rules), error) {
			entries, err := ParseAPIKeys(text)
			if err != nil {
				return nil, err
			}
			keys := NewAPIKeys(entries)
			return func(r *rules) { r.keys = keys }, nil
		}})
	}
	return files
}

// read returns the change of the rules by the file's content; nil if it is the same as before or
// has mistakes.
func (f *ruleFile) read() (change func(*rules), err error) {
	text, err := readRuleFile(f.name)
	if err != nil {
		f.missing++
		return nil, f.about(err)
	}
	f.missing = 0
	sum := sha256.Sum256(text)
	if f.known && sum == f.sum {
		if !f.broken {
			f.problem = "" // it was missing, and is back
		}
		return nil, nil
	}
	change, err = f.apply(text)
	f.known, f.sum, f.broken = true, sum, err != nil
	if err != nil {
		return nil, f.about(err)
	}
	return change, nil
}

func (f *ruleFile) about(err error) error { return fmt.Errorf("%s %s: %w", f.noun, f.name, err) }

// readRuleFile reads a file of bounded size.
func readRuleFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular(): // to open a pipe would wait
		return nil, errors.New("it is not a file")
	case info.Size() > maxRuleFile:
		return nil, fmt.Errorf("it has %d bytes, may have %d", info.Size(), maxRuleFile)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxRuleFile))
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

// loadFiles reads the files for the first time. The errors list all mistakes.
func (g *Guard) loadFiles() (errs []error) {
	var first rules
	if g.opts.Checks() {
		first.policy = policy.Authenticated()
	}
	g.files = g.newFiles()
	for _, f := range g.files {
		change, err := f.read()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		change(&first)
	}
	if len(errs) == 0 {
		g.replace(func(r *rules) { r.policy, r.keys = first.policy, first.keys })
	}
	return errs
}

// interval is how often the files are looked at.
const interval = time.Second

// Run reads files again when they change, and ends the lasting calls of callers that may no longer
// make them, until ctx ends. A server of keys for tokens that does not answer delays neither the
// files nor the end.
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

// reloadFiles applies the files that have changed. Each applies on its own: a file with mistakes, or
// one that is missing, keeps the last good state of its own rules and no others.
func (g *Guard) reloadFiles() {
	var problems []string
	for _, f := range g.files {
		change, err := f.read()
		switch {
		case change != nil:
			f.problem = ""
			g.replace(change)
			g.log.Info("the rules of access were read again", "file", f.name)
		case err != nil && f.missing == 0 || f.missing == 2: // missing once: it is being replaced
			f.problem = err.Error()
			g.reloadFailures.Add(1)
			g.log.Error("the rules of access cannot be read; the earlier ones of this file stay in force", "error", err)
		}
		if f.problem != "" {
			problems = append(problems, f.problem)
		}
	}
	g.problems.Store(&problems)
	g.endRefused()
}

// Problems returns why files of rules do not apply as they are now: their last good state does.
func (g *Guard) Problems() []string {
	if g == nil {
		return nil
	}
	if p := g.problems.Load(); p != nil {
		return *p
	}
	return nil
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
		g.endRefused()
	}
}
