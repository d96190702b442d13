// Package native runs models in libraries that are opened at run time: engines for OpenVINO and for
// forests of trees, and what they share. It chooses for each model between the engine and the form of
// the backend in Python, finds the library, completes configurations and runs batches.
// docs/adr/0035-native-engines.md says which engines there are and why.
package native

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"triton/pkg/inferencepb"
	"triton/server/backend"
)

// Engine loads models in a library. Its errors say what the user can do.
type Engine interface {
	backend.Backend
	backend.AutoCompleter
	// Ready opens the library that a model of this configuration needs. The error says
	// why the engine cannot run it.
	Ready(c *inferencepb.ModelConfig, settings map[string]string) error
}

// Backend is a backend with two forms: an engine, and a program in Python over the same
// library. The configuration's runtime chooses: "model.py" is Python, "libtriton_<name>.so"
// is the engine. Without it the engine runs the model if it can.
type Backend struct {
	name   string
	engine Engine
	python backend.Backend
}

var (
	_ backend.Backend       = (*Backend)(nil)
	_ backend.AutoCompleter = (*Backend)(nil)
)

// New returns the backend of a name.
func New(name string, engine Engine, python backend.Backend) *Backend {
	return &Backend{name, engine, python}
}

// Replaceable reports that a backend in the backend directory takes its place.
func (*Backend) Replaceable() bool { return true }

// SettingsOf returns the backend whose settings apply in addition to its own.
func (*Backend) SettingsOf() string { return "python" }

// Form returns the form that runs a model.
func (b *Backend) Form(ctx context.Context, c *inferencepb.ModelConfig, settings map[string]string, log *slog.Logger) backend.Backend {
	switch c.GetRuntime() {
	case "model.py":
		return b.python
	case "libtriton_" + b.name + ".so":
		return b.engine
	}
	why := forPython(c)
	if why == nil {
		why = b.engine.Ready(c, settings)
	}
	if why != nil {
		log.LogAttrs(ctx, slog.LevelInfo, "the backend's form in Python runs the model",
			slog.String("model", c.GetName()), slog.String("backend", b.name), slog.String("reason", why.Error()))
		return b.python
	}
	return b.engine
}

// forPython returns why a model can only mean the form in Python: it has parameters of it.
func forPython(c *inferencepb.ModelConfig) error {
	for key := range c.GetParameters() {
		if key == "EXECUTION_ENV_PATH" || strings.HasPrefix(key, "python_") {
			return fmt.Errorf("it has the parameter %s", key) //nolint:err113 // only logged
		}
	}
	return nil
}

// Load loads the model in the form that runs it.
func (b *Backend) Load(ctx context.Context, spec backend.Spec) (backend.Model, error) {
	return b.Form(ctx, spec.Config, spec.Settings, spec.Log).Load(ctx, spec)
}

// AutoComplete completes the configuration in the form that runs the model.
func (b *Backend) AutoComplete(ctx context.Context, spec backend.Spec) error {
	if a, ok := b.Form(ctx, spec.Config, spec.Settings, spec.Log).(backend.AutoCompleter); ok {
		return a.AutoComplete(ctx, spec)
	}
	return nil
}
