package fleet

import (
	"context"
	"fmt"
	"maps"
	"sync/atomic"

	"triton/pkg/fleetstate"
)

// Demand is the part of a server that loads models when requests need them. There the document does
// not say what is loaded, but what requests may load, with which configuration, and what stays loaded.
type Demand interface {
	// Know makes the models of a document those that requests may load; without pruning they may load
	// the others too.
	Know(d *fleetstate.Document)
	// Known returns the models that requests may load, by name, with what replaces their configurations.
	Known() []Model
	// Pinned reports which models are pinned where the document does not say it. Models that cannot be
	// read are left out.
	Pinned(ctx context.Context, names []string) map[string]bool
	// Next returns what replaces the configuration of a model that is not loaded, and SetNext replaces it.
	Next(name string) *string
	SetNext(name string, config *string)
}

// demand is what the controller of such a server remembers; its turn guards it.
type demand struct {
	inForce  *fleetstate.Document // the last one that the server was told; nil: none
	defaults map[string]bool      // Demand.Pinned by model, since the last document
	// pinned are the models that the last look wanted loaded; for reports, without the turn.
	pinned atomic.Pointer[map[string]bool]
}

// know tells the server the models of a document.
func (c *Controller) know(d *fleetstate.Document) {
	if c.opts.Demand == nil {
		return
	}
	c.demand.inForce, c.demand.defaults = d, nil
	c.opts.Demand.Know(d)
}

// adopt records under which entry the models are loaded that requests have loaded, so that a change
// of the revision loads them again. It is called before the entries change.
func (c *Controller) adopt() {
	if c.demand.inForce == nil {
		return
	}
	serves := map[string]bool{}
	for _, m := range c.opts.Models.Loaded() {
		serves[m.Name] = m.Serves
	}
	for name, entry := range c.demand.inForce.Models {
		switch _, known := c.applied[name]; {
		case !serves[name]:
			delete(c.applied, name) // the next load reads the files as they are then
		case !known:
			c.applied[name] = entry
		}
	}
}

// learnPins asks the server about the models of which it and the document have not said yet whether they
// are pinned.
func (c *Controller) learnPins(ctx context.Context, d *fleetstate.Document) {
	if c.opts.Demand == nil {
		return
	}
	var open []string
	for _, name := range d.Names() {
		if _, known := c.demand.defaults[name]; !known && d.Models[name].Pin == nil {
			open = append(open, name)
		}
	}
	if len(open) == 0 {
		return
	}
	if c.demand.defaults == nil {
		c.demand.defaults = map[string]bool{}
	}
	maps.Copy(c.demand.defaults, c.opts.Demand.Pinned(ctx, open))
}

// keepsLoaded reports whether the controller loads a model of the document, and keeps it loaded.
func (c *Controller) keepsLoaded(name string, want fleetstate.Model) bool {
	switch {
	case c.opts.Demand == nil:
		return true
	case want.Pin != nil:
		return *want.Pin
	}
	return c.demand.defaults[name]
}

// planNext returns the change of the configuration that a request will load a model with; nil: it has that
// already.
func (c *Controller) planNext(want fleetstate.Model, a *Action) *Action {
	before := c.opts.Demand.Next(a.Model)
	if sameConfig(before, a.config) {
		return nil
	}
	a.Do, a.What, a.From, a.To = doSet, whatConfig, text(before), text(a.config)
	if want.Versions != nil {
		a.What = whatVersions
	}
	return a
}

// recordPinned keeps the models that the server needs for reports.
func (c *Controller) recordPinned(d *fleetstate.Document) {
	if c.opts.Demand == nil {
		return
	}
	pinned := map[string]bool{}
	for name, want := range d.Models {
		pinned[name] = c.keepsLoaded(name, want)
	}
	c.demand.pinned.Store(&pinned)
}

// needed reports whether a model of the document has to serve.
func (c *Controller) needed(name string) bool {
	if c.opts.Demand == nil {
		return true
	}
	pinned := c.demand.pinned.Load()
	return pinned != nil && (*pinned)[name]
}

// exported returns the models of an exported document.
func (c *Controller) exported() []Model {
	if c.opts.Demand != nil {
		return c.opts.Demand.Known()
	}
	var all []Model
	for _, m := range c.opts.Models.Loaded() {
		if !m.Composing && m.Serves {
			all = append(all, m)
		}
	}
	return all
}

// entryOf returns the entry that a model was loaded for, or will be.
func (c *Controller) entryOf(name string) fleetstate.Model {
	if d := c.demand.inForce; d != nil {
		return d.Models[name]
	}
	return c.applied[name]
}

func (a *Action) setsNext() bool {
	return a.Do == doSet && (a.What == whatConfig || a.What == whatVersions)
}

func (c *Controller) setNext(a *Action) error {
	if c.opts.Demand == nil {
		return fmt.Errorf("the %s of a model is part of its load", a.What)
	}
	c.opts.Demand.SetNext(a.Model, a.config)
	return nil
}
