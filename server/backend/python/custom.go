package python

import (
	"context"

	"triton/server/backend"
)

// Runtime is a backend written in Python: a folder with a model.py that runs all models
// of the backend. The models have no code of their own.
type Runtime struct {
	host *Backend
	dir  string // the folder
}

var (
	_ backend.Backend       = (*Runtime)(nil)
	_ backend.AutoCompleter = (*Runtime)(nil)
)

// Runtime returns the backend in a folder.
func (b *Backend) Runtime(dir string) backend.Backend { return &Runtime{host: b, dir: dir} }

// Load makes a model that the folder's model.py runs.
func (r *Runtime) Load(ctx context.Context, spec backend.Spec) (backend.Model, error) {
	return r.host.load(ctx, spec, r)
}

// AutoComplete runs the auto_complete_config of the folder's model.py.
func (r *Runtime) AutoComplete(ctx context.Context, spec backend.Spec) error {
	return r.host.complete(ctx, spec, r)
}

// program returns the program of a model.
func (r *Runtime) program(spec backend.Spec) (program, error) {
	if r == nil {
		return ownProgram(spec)
	}
	return sharedProgram(spec, r.dir), nil
}
