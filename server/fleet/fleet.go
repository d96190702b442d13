// Package fleet keeps a server equal to a fleet state: it reads the document of package
// fleetstate from a file or a URL, and loads and unloads models and changes settings until the
// server is as the document says, again and again. It knows the server by a few interfaces.
package fleet

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync/atomic"
	"time"

	"triton/pkg/fleetstate"
	"triton/pkg/inferencepb"
	"triton/server/infer"
)

// Models are the models of the server.
type Models interface {
	// Loaded returns the models that are loaded or should be, by name.
	Loaded() []Model
	Load(ctx context.Context, name string, o infer.LoadOptions) error
	Unload(ctx context.Context, name string, dependents bool) error
	// ConfigWithVersions returns the configuration of a model in the repository with another
	// version policy, as a load takes it.
	ConfigWithVersions(ctx context.Context, name string, policy *inferencepb.ModelVersionPolicy) (string, error)
}

// Model is a model that is loaded or should be.
type Model struct {
	Name      string
	Serves    bool    // a version is ready
	Composing bool    // loaded only because ensembles use it
	Override  *string // the configuration that replaces the model's own; nil: none
}

// Settings are the settings of log and traces, by the names and in the form of the HTTP API. The
// settings of traces of all models are those of the model "".
type Settings interface {
	Log() (map[string]json.RawMessage, error)
	SetLog(change map[string]json.RawMessage) error
	Trace(model string) (map[string]json.RawMessage, error)
	SetTrace(model string, change map[string]json.RawMessage) error
}

// Traffic are the rules for the traffic of models.
type Traffic interface {
	// Traffic returns the rules of a model; nil: it has none.
	Traffic(ctx context.Context, model string) (json.RawMessage, error)
	SetTraffic(ctx context.Context, model string, rules json.RawMessage) error
}

// Options configure a Controller.
type Options struct {
	// From is a file or an http or https URL; empty: there is no document, and only Export,
	// Plan and Apply work.
	From string
	// Interval is the time from one look at the source and the server to the next.
	Interval time.Duration
	// Write lets loads and unloads of clients change the file.
	Write bool
	// Cache is a file that keeps the last good document, for starts without the source; empty:
	// none does.
	Cache string
	// Loads bounds the loads at a time.
	Loads int

	Models   Models
	Settings Settings
	Traffic  Traffic // nil: the server has no rules for traffic
	Demand   Demand  // nil: only the controller and clients load models
	// Changed is called with each new document before it is applied.
	Changed func(*fleetstate.Document)
	Log     *slog.Logger
}

// Controller keeps a server equal to a document.
type Controller struct {
	opts   Options
	source source // nil: none
	writer *writer

	// turn guards the fields after it.
	turn     turn
	text     []byte // of the document, as it was read
	refused  error  // why the last text was not accepted; nil: it was
	failures map[string]*failure
	// resolved are the configurations that the versions of models stand for.
	resolved map[string]*string
	loads    loads
	// applied are the entries of the models that were loaded for a document.
	applied map[string]fleetstate.Model
	demand  demand

	document atomic.Pointer[fleetstate.Document] // the last good one; nil: none yet
	condition
}

// New checks the options and returns a controller. It reads nothing.
func New(o Options) (*Controller, error) {
	c := &Controller{
		opts: o, loads: loads{all: map[string]*load{}},
		failures: map[string]*failure{}, resolved: map[string]*string{}, applied: map[string]fleetstate.Model{},
	}
	if o.From == "" {
		return c, nil
	}
	var err error
	if c.source, err = newSource(o.From); err != nil {
		return nil, err
	}
	if o.Write {
		if c.writer, err = newWriter(c.source); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Run calls Sync again and again until ctx ends. Sync logs the errors.
func (c *Controller) Run(ctx context.Context) {
	tick := time.NewTicker(c.opts.Interval)
	defer tick.Stop()
	for ctx.Err() == nil {
		_ = c.Sync(ctx)
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// Document returns the last good document; nil if there is none yet.
func (c *Controller) Document() *fleetstate.Document { return c.document.Load() }
