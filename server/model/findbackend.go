package model

import (
	"os"
	"path/filepath"
	"strings"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/status"
	"triton/server/backend"
)

const (
	pythonBackend = "python"
	pythonProgram = "model.py" // of a backend that is written in Python
)

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

// foundBackend is the backend of a model.
type foundBackend struct {
	backend.Backend
	settings string // name of the backend whose --backend-config pairs apply
}

// findBackend returns the backend that runs the models of a configuration. It searches as Triton
// does: a backend of this program stands for a library, so it comes before the model.py in
// the backend directory, unless the runtime names the model.py.
func (b *Builder) findBackend(c *modelconfig.Config, model string, dirs ...string) (foundBackend, error) {
	name := c.GetBackend()
	known := b.opts.Backends[name]
	folder := filepath.Join(b.opts.BackendDirectory, name)
	switch library := "libtriton_" + name + ".so"; c.GetRuntime() {
	case "":
		custom := known == nil || canReplace(known) && !isFile(filepath.Join(folder, library))
		if custom && isFile(filepath.Join(folder, pythonProgram)) {
			return b.pythonBased(c.ModelConfig, folder)
		}
		if known == nil {
			return foundBackend{}, status.New(status.InvalidArg,
				"unable to find backend library for backend '%s', try specifying runtime on the model configuration.", name)
		}
	case pythonProgram:
		if path := filepath.Join(folder, pythonProgram); isFile(path) {
			return b.pythonBased(c.ModelConfig, folder)
		} else if known == nil || !canReplace(known) {
			return foundBackend{}, status.New(status.InvalidArg,
				"unable to find Python backend based backend library '%s' for model '%s', searched: '%s'", pythonProgram, model, path)
		}
	default:
		if known == nil || c.GetRuntime() != library {
			return foundBackend{}, noLibrary(c.GetRuntime(), model, append(dirs, folder))
		}
	}
	f := foundBackend{known, name}
	if o, ok := known.(settingsOwner); ok {
		f.settings = o.SettingsOf()
	}
	return f, nil
}

// pythonBased returns the backend of a folder with a model.py, and completes the configuration as
// Triton does for such a backend.
func (b *Builder) pythonBased(c *inferencepb.ModelConfig, folder string) (foundBackend, error) {
	host, ok := b.opts.Backends[pythonBackend].(pythonHost)
	if !ok {
		return foundBackend{}, status.New(status.InvalidArg, "the backend '%s' in %s is written in Python, which this program does not run", c.GetBackend(), folder)
	}
	c.Runtime = pythonProgram
	const env = "EXECUTION_ENV_PATH"
	if archive := filepath.Join(folder, "pb_exec_env_"+pythonProgram+".tar.gz"); c.GetParameters()[env] == nil && exists(archive) {
		if c.Parameters == nil {
			c.Parameters = map[string]*inferencepb.ModelParameter{}
		}
		c.Parameters[env] = &inferencepb.ModelParameter{StringValue: archive}
	}
	return foundBackend{host.Runtime(folder), pythonBackend}, nil
}

// noLibrary returns the error of a runtime that cannot be used.
func noLibrary(runtime, model string, dirs []string) error {
	var searched strings.Builder
	for _, dir := range dirs {
		if path := filepath.Join(dir, runtime); exists(path) {
			if rel, err := filepath.Rel(dir, path); err != nil || !filepath.IsLocal(rel) {
				return status.New(status.InvalidArg,
					"backend library name '%s' escapes backend directory '%s', for model '%s', check model config runtime field", runtime, dir, model)
			}
			return status.New(status.Unsupported, "the backend library %s of model '%s' cannot be opened: this server does not run backends that are shared libraries", path, model)
		}
		searched.WriteString("'" + dir + "' ")
	}
	return status.New(status.InvalidArg, "unable to find backend library '%s' for model '%s', searched: %s", runtime, model, searched.String())
}

func canReplace(known backend.Backend) bool {
	r, ok := known.(replaceable)
	return ok && r.Replaceable()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}
