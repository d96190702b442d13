package access

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"triton/server/access/audit"
	"triton/server/access/policy"
)

// Options configure a guard. The zero value needs no guard.
type Options struct {
	// Policy is a file of rules. Without it a proven identity may do everything, and others
	// only ask for the server's health.
	Policy string
	// Keys is a file of API keys.
	Keys string
	// Tokens configures tokens; without keys there are none.
	Tokens TokenOptions
	// Failures is the number of wrong credentials that an address may present before it has to
	// wait; 0: it never has to.
	Failures int
	// Audit configures the log of calls; without a file there is none.
	Audit audit.Options
}

// Default returns the options of a server without a guard.
func Default() Options {
	return Options{Failures: 10, Tokens: TokenOptions{Leeway: time.Minute, Groups: "groups"}}
}

// Enabled reports whether the options ask who may do what.
func (o *Options) Enabled() bool {
	return o.Policy != "" || o.Keys != "" || o.Tokens.Keys != "" || o.Audit.File != ""
}

// Checks reports whether any call needs a right. With an audit log alone nobody is refused.
func (o *Options) Checks() bool { return o.Policy != "" || o.Keys != "" || o.Tokens.Keys != "" }

// New reads all files and returns a guard, or nil if the options need none. Any mistake in a
// file is an error.
func New(o Options, log *slog.Logger) (*Guard, error) {
	if !o.Enabled() {
		return nil, nil
	}
	g := &Guard{opts: o, log: log, damping: newDamping(o.Failures), now: time.Now}
	if o.Tokens.Now != nil {
		g.now = o.Tokens.Now
	}
	g.quotas = policy.NewAccounts(g.now)
	var errs []error
	if o.Tokens.Keys != "" {
		var err error
		if g.tokens, err = newTokenVerifier(o.Tokens); err != nil {
			errs = append(errs, fmt.Errorf("tokens: %w", err))
		} else if _, err := g.tokens.Refresh(context.Background()); err != nil {
			// A server of keys that is down must not keep this one from starting; a missing file
			// is a mistake.
			if !g.tokens.Remote() {
				errs = append(errs, fmt.Errorf("tokens: keys of %s: %w", o.Tokens.Keys, err))
			} else {
				log.Error("the keys for tokens cannot be loaded: tokens are refused until they can", "error", err)
			}
		}
	}
	errs = append(errs, g.loadFiles()...)
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if o.Audit.File != "" {
		a := o.Audit
		a.Log = log
		var err error
		if g.audit, err = audit.Open(a); err != nil {
			return nil, fmt.Errorf("audit log: %w", err)
		}
	}
	return g, nil
}
