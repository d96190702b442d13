package python

import (
	"context"
	"path/filepath"

	"triton/server/backend"
)

// Runtime is a backend written in Python: a folder with a model.py that runs all models
// of the backend. The models have no code of their own.
type Runtime struct {
	host    *Backend
	dir     string // the folder
	shipped string // the folder in this program, instead of dir
}

var (
	_ backend.Backend       = (*Runtime)(nil)
	_ backend.AutoCompleter = (*Runtime)(nil)
)

// Runtime returns the backend in a folder.
func (b *Backend) Runtime(dir string) backend.Backend { return &Runtime{host: b, dir: dir} }

// Shipped returns the backends in Python that are part of this program, by name.
func (b *Backend) Shipped() backend.Set {
	set := backend.Set{}
	for name, dir := range map[string]string{
		"pytorch": "pytorch_backend", "tensorflow": "tensorflow_backend", "openvino": "openvino_backend",
		"fil": "fil_backend", "xgboost": "fil_backend", "lightgbm": "fil_backend", "sklearn": "fil_backend",
	} {
		set[name] = &Runtime{host: b, shipped: dir}
	}
	return set
}

// Replaceable reports whether a backend in the backend directory takes its place.
func (r *Runtime) Replaceable() bool { return r.shipped != "" }

// OwnsProcesses marks the backend as one whose models run in processes of their own.
func (*Runtime) OwnsProcesses() {}

// SettingsOf returns the backend whose settings apply.
func (r *Runtime) SettingsOf() string { return Name }

// Load makes a model that the folder's model.py runs.
func (r *Runtime) Load(ctx context.Context, spec backend.Spec) (backend.Model, error) {
	return r.host.load(ctx, spec, r)
}

// AutoComplete runs the auto_complete_config of the folder's model.py.
func (r *Runtime) AutoComplete(ctx context.Context, spec backend.Spec) error {
	return r.host.complete(ctx, spec, r)
}

// program returns the program of a model. The modules of this program are in the folder
// runtime.
func (r *Runtime) program(spec backend.Spec, runtime string) (program, error) {
	switch {
	case r == nil:
		return ownProgram(spec)
	case r.shipped != "":
		return sharedProgram(spec, filepath.Join(runtime, r.shipped)), nil
	}
	return sharedProgram(spec, r.dir), nil
}
