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
	"triton/server/backend/plugin"
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
	key           string // by which a child process finds the backend; empty: its name
}

// findBackend returns the backend that runs the models of a configuration.
func (b *Builder) findBackend(c *modelconfig.Config, dirs ...string) (foundBackend, error) {
	name := c.GetBackend()
	known := b.opts.Backends[name]
	where, mistakes := requirement.Find(c, requirement.Search{
		Has:       func(string) (has, replaceable bool) { return known != nil, known != nil && canReplace(known) },
		Directory: b.opts.BackendDirectory, Model: dirs,
		Plugin: func(name string) bool { return b.opts.BackendSettings[name][pluginSetting] == "true" },
	})
	switch {
	case len(mistakes) > 0:
		return foundBackend{}, c.First(mistakes)
	case where.Library != "" && where.Folder != "":
		completePythonBased(c.ModelConfig, where.Folder)
		return newPlugin(plugin.Location{Name: name, Library: where.Library, Artifacts: where.Folder, Settings: pythonBackend}), nil
	case where.Library != "":
		return newPlugin(plugin.Location{Name: name, Library: where.Library}), nil
	case where.Folder != "":
		return b.pythonBased(c.ModelConfig, where.Folder)
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

// chooseForm chooses the form of a backend that has several.
func (b *Builder) chooseForm(ctx context.Context, f foundBackend, c *inferencepb.ModelConfig) foundBackend {
	if many, ok := f.Backend.(formed); ok {
		f.Backend = many.Form(ctx, c, b.backendSettings(f), b.opts.Log)
	}
	return f
}

// pluginSetting is the --backend-config key that prefers the library of a backend to the one
// that this program has.
const pluginSetting = "plugin"

func newPlugin(where plugin.Location) foundBackend {
	return foundBackend{Backend: plugin.New(where), settings: where.SettingsOf(), key: where.Key()}
}

// pythonBased returns the backend of a folder with a model.py.
func (b *Builder) pythonBased(c *inferencepb.ModelConfig, folder string) (foundBackend, error) {
	host, ok := b.opts.Backends[pythonBackend].(pythonHost)
	if !ok {
		return foundBackend{}, status.New(status.InvalidArg, "the backend '%s' in %s is written in Python, which this program does not run", c.GetBackend(), folder)
	}
	completePythonBased(c, folder)
	return foundBackend{Backend: host.Runtime(folder), settings: pythonBackend}, nil
}

// completePythonBased completes the configuration of a model whose backend is in Python.
func completePythonBased(c *inferencepb.ModelConfig, folder string) {
	c.Runtime = requirement.Program
	const env = "EXECUTION_ENV_PATH"
	if archive := filepath.Join(folder, "pb_exec_env_"+requirement.Program+".tar.gz"); c.GetParameters()[env] == nil && exists(archive) {
		if c.Parameters == nil {
			c.Parameters = map[string]*inferencepb.ModelParameter{}
		}
		c.Parameters[env] = &inferencepb.ModelParameter{StringValue: archive}
	}
}

func canReplace(known backend.Backend) bool {
	r, ok := known.(replaceable)
	return ok && r.Replaceable()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
