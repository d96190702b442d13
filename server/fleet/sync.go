package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"triton/pkg/fleetstate"
	"triton/pkg/replacefile"
)

// Sync reads the document and brings the server to it. It returns the first reason why the server
// is not as the document says. A document that cannot be read leaves the last good one in force.
func (c *Controller) Sync(ctx context.Context) error {
	unlock, err := c.turn.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	c.adopt()
	readErr := c.read(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c.recordRead(readErr, c.opts.Log)
	d := c.document.Load()
	if d == nil {
		return readErr
	}
	failed := c.reconcile(ctx, d)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c.recordApply(failed)
	if len(failed) > 0 {
		return errors.Join(readErr, errors.New(failed[0]))
	}
	return readErr
}

// read replaces the document if the source has another one.
func (c *Controller) read(ctx context.Context) error {
	text, err := c.source.read(ctx)
	if err != nil {
		if c.document.Load() == nil {
			return c.readCache(err)
		}
		return err
	}
	if text == nil { // the same as the last one, which may have been refused
		return c.refused
	}
	c.refused = nil
	if bytes.Equal(text, c.text) && c.document.Load() != nil && !c.cached.Load() {
		return nil
	}
	if err := c.accept(text); err != nil {
		c.refused = err
		if c.document.Load() == nil {
			return c.readCache(err)
		}
		return err
	}
	c.cached.Store(false)
	c.writeCache(text)
	return nil
}

// accept makes a text the document in force, if it can be read.
func (c *Controller) accept(text []byte) error {
	d, warnings, err := fleetstate.Parse(text)
	if err != nil {
		return fmt.Errorf("%s: %w", c.source.name(), err)
	}
	for _, w := range warnings {
		c.opts.Log.Warn(c.source.name() + ": " + w)
	}
	c.text = text
	clear(c.failures) // what failed may be corrected
	clear(c.resolved)
	if c.opts.Changed != nil {
		c.opts.Changed(d)
	}
	c.know(d)
	c.document.Store(d)
	c.opts.Log.Info(fmt.Sprintf("state %s, generation %d: %d models", c.source.name(), d.Generation, len(d.Models)))
	return nil
}

// readCache uses the last good document of an earlier start. It returns why the source failed.
func (c *Controller) readCache(cause error) error {
	if c.opts.Cache == "" {
		return cause
	}
	text, err := os.ReadFile(c.opts.Cache)
	if err == nil {
		err = c.accept(text)
	}
	if err != nil {
		return fmt.Errorf("%w; and the copy of the last good state cannot be used: %w", cause, err)
	}
	c.cached.Store(true)
	c.opts.Log.Warn(fmt.Sprintf("the copy %s of the last good state is in force: %s", c.opts.Cache, cause))
	return cause
}

func (c *Controller) writeCache(text []byte) {
	if c.opts.Cache == "" {
		return
	}
	err := os.MkdirAll(filepath.Dir(c.opts.Cache), 0o755)
	if err == nil {
		err = replacefile.Text(c.opts.Cache, mode(c.opts.Cache), text)
	}
	if err != nil {
		c.opts.Log.Warn(fmt.Sprintf("the copy of the last good state cannot be written: %s", err))
	}
}
