package model

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/modelconfig/requirement"
	"triton/pkg/status"
	"triton/server/backend"
)

const pythonBackend = "python"

// pythonHost runs backends that are written in Python.
type pythonHost interface {
	// Runtime returns the backend in a folder with a model.py.
	Runtime(dir string) backend.Backend
}

// settingsOwner is a backend that uses the settings of another backend, whose name
// SettingsOf returns.
type settingsOwner interface{ SettingsOf() string }

// replaceable is a backend that gives way to a backend of the same name in the backend
// directory.
type replaceable interface{ Replaceable() bool }

// formed is a backend that has several forms. Form returns the one that runs a model.
type formed interface {
	Form(ctx context.Context, c *inferencepb.ModelConfig, settings map[string]string, log *slog.Logger) backend.Backend
}

// foundBackend is the backend of a model.
type foundBackend struct {
	backend.Backend
	// settings is the name of the backend whose --backend-config pairs apply, own that of
	// another one whose pairs are added; "" for none.
	settings, own string
}

// findBackend returns the backend that runs the models of a configuration.
func (b *Builder) findBackend(c *modelconfig.Config, dirs ...string) (foundBackend, error) {
	name := c.GetBackend()
	known := b.opts.Backends[name]
	folder, mistakes := requirement.Find(c, requirement.Search{
		Has:       func(string) (has, replaceable bool) { return known != nil, known != nil && canReplace(known) },
		Directory: b.opts.BackendDirectory, Model: dirs,
	})
	switch {
	case len(mistakes) > 0:
		return foundBackend{}, c.First(mistakes)
	case folder != "":
		return b.pythonBased(c.ModelConfig, folder)
	}
	f := foundBackend{Backend: known, settings: name}
	if o, ok := known.(settingsOwner); ok {
		f.settings = o.SettingsOf()
	}
	if _, ok := known.(formed); ok {
		f.own = name
	}
	return f, nil
}

// form chooses the form of a backend that has several.
func (b *Builder) form(ctx context.Context, f foundBackend, c *inferencepb.ModelConfig) foundBackend {
	if many, ok := f.Backend.(formed); ok {
		f.Backend = many.Form(ctx, c, b.backendSettings(f), b.opts.Log)
	}
	return f
}

// pythonBased returns the backend of a folder with a model.py, and completes the configuration as
// Triton does for such a backend.
func (b *Builder) pythonBased(c *inferencepb.ModelConfig, folder string) (foundBackend, error) {
	host, ok := b.opts.Backends[pythonBackend].(pythonHost)
	if !ok {
		return foundBackend{}, status.New(status.InvalidArg, "the backend '%s' in %s is written in Python, which this program does not run", c.GetBackend(), folder)
	}
	c.Runtime = requirement.Program
	const env = "EXECUTION_ENV_PATH"
	if archive := filepath.Join(folder, "pb_exec_env_"+requirement.Program+".tar.gz"); c.GetParameters()[env] == nil && exists(archive) {
		if c.Parameters == nil {
			c.Parameters = map[string]*inferencepb.ModelParameter{}
		}
		c.Parameters[env] = &inferencepb.ModelParameter{StringValue: archive}
	}
	return foundBackend{Backend: host.Runtime(folder), settings: pythonBackend}, nil
}

func canReplace(known backend.Backend) bool {
	r, ok := known.(replaceable)
	return ok && r.Replaceable()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
