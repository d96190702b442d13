package fleet

import (
	"context"
	"encoding/json"
	"fmt"

	"triton/pkg/fleetstate"
	"triton/pkg/status"
	"triton/server/infer"
)

// refuse returns the error for a client that changes models although the document decides about
// them; nil if clients may.
func (c *Controller) refuse() error {
	if c.source == nil || c.writer != nil {
		return nil
	}
	return status.New(status.Unavailable,
		"model load / unload is not allowed: the state %s decides which models are loaded; change it, or start the server with --state-write", c.source.name())
}

// Load loads a model for a client and writes it to the document.
func (c *Controller) Load(ctx context.Context, name string, o infer.LoadOptions) error {
	if err := c.refuse(); err != nil {
		return err
	}
	if c.writer != nil && len(o.Files) > 0 {
		return status.New(status.InvalidArg, "the files of model '%s' cannot be written to the state %s", name, c.source.name())
	}
	unlock, err := c.turn.rlock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := c.opts.Models.Load(ctx, name, o); err != nil || c.writer == nil {
		return err
	}
	return c.write(ctx, func(e *fleetstate.Edit) error { return e.Load(name, o.Config) })
}

// Unload unloads a model for a client and removes it from the document.
func (c *Controller) Unload(ctx context.Context, name string, dependents bool) error {
	if err := c.refuse(); err != nil {
		return err
	}
	unlock, err := c.turn.rlock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := c.opts.Models.Unload(ctx, name, dependents); err != nil || c.writer == nil {
		return err
	}
	return c.write(ctx, func(e *fleetstate.Edit) error { e.Unload(name); return nil })
}

// write changes the file. The next Sync reads it, together with the changes of others.
func (c *Controller) write(ctx context.Context, change func(*fleetstate.Edit) error) error {
	_, err := c.writer.change(context.WithoutCancel(ctx), func(text []byte) ([]byte, error) {
		e, err := fleetstate.NewEdit(text)
		if err != nil {
			return nil, status.New(status.Unavailable, "%s: %w", c.source.name(), err)
		}
		if err := change(e); err != nil {
			return nil, err
		}
		return e.Text()
	})
	return err
}

// Result is what Apply did.
type Result struct {
	Actions []Action `json:"actions"`
	// Generation is that of the file after it was written; 0: there is none.
	Generation int64 `json:"generation,omitempty"`
}

// ErrConflict is returned by Apply if the document is older than the file.
var ErrConflict error = status.New(status.AlreadyExists, "the state was changed since")

// Apply brings the server to a document once, and writes it to the file if there is one. With dry,
// it returns only what it would do.
func (c *Controller) Apply(ctx context.Context, text []byte, dry bool) (Result, error) {
	d, _, err := fleetstate.Parse(text)
	if err != nil {
		return Result{}, status.New(status.InvalidArg, "%w", err)
	}
	if err := c.refuse(); err != nil && !dry {
		return Result{}, err
	}
	unlock, err := c.turn.lock(ctx)
	if err != nil {
		return Result{}, err
	}
	defer unlock()
	clear(c.resolved)
	if !dry {
		c.adopt()
	}
	actions := c.plan(ctx, d)
	if dry {
		return Result{Actions: actions}, nil
	}
	r := Result{}
	if c.writer != nil {
		if r.Generation, err = c.store(ctx, d, text); err != nil {
			return r, err
		}
	}
	c.know(d)
	due := make([]*Action, len(actions))
	for i := range actions {
		due[i] = &actions[i]
	}
	c.perform(ctx, d, due)
	r.Actions = actions
	return r, nil
}

// store replaces the file by a document with the next generation. A document with a generation has
// to have that of the file.
func (c *Controller) store(ctx context.Context, d *fleetstate.Document, text []byte) (generation int64, err error) {
	_, err = c.writer.change(ctx, func(before []byte) ([]byte, error) {
		old, _, err := fleetstate.Parse(before)
		if err == nil {
			generation = old.Generation
		}
		if d.Generation != 0 && d.Generation != generation {
			return nil, status.New(status.AlreadyExists, "%w: it has generation %d, the request %d: export it again", ErrConflict, generation, d.Generation)
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(text, &fields); err != nil {
			return nil, status.New(status.InvalidArg, "a server writes a state in JSON only: %w", err)
		}
		generation++
		fields["generation"] = fmt.Appendf(nil, "%d", generation)
		out, err := json.MarshalIndent(fields, "", "  ")
		return append(out, '\n'), err
	})
	return generation, err
}

// Export returns a document of what the server serves: its models with what replaces their
// configurations, traffic rules, and the settings of log and traces.
func (c *Controller) Export(ctx context.Context) (*fleetstate.Document, error) {
	unlock, err := c.turn.rlock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	d := &fleetstate.Document{Models: map[string]fleetstate.Model{}}
	if now := c.document.Load(); now != nil {
		d.Generation, d.Required = now.Generation, now.Required
	}
	for _, m := range c.exported() {
		of := c.entryOf(m.Name)
		entry := fleetstate.Model{Revision: of.Revision, Pin: of.Pin}
		if versions := of.Versions; versions != nil && m.Override != nil && sameConfig(m.Override, c.resolved[m.Name]) {
			entry.Versions = versions
		} else if m.Override != nil {
			entry.Config = json.RawMessage(*m.Override)
		}
		if c.opts.Traffic != nil {
			rules, err := c.opts.Traffic.Traffic(ctx, m.Name)
			if err != nil {
				return nil, err
			}
			entry.Traffic = rules
		}
		d.Models[m.Name] = entry
	}
	if d.Log, err = c.opts.Settings.Log(); err != nil {
		d.Log = nil // the server's log cannot be changed
	}
	if d.Trace, err = c.opts.Settings.Trace(""); err != nil {
		d.Trace = nil
	}
	return d, nil
}
