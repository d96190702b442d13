package repository

import (
	"context"
	"time"

	"triton/pkg/status"
)

// registerWait bounds how long a registration waits for the store of a path.
const registerWait = 30 * time.Second

// Register adds a repository path while the server runs, in explicit control. It loads
// nothing. The names map folders to the names of their models; a folder that is not in names
// keeps its own name.
func (r *Repository) Register(path string, names map[string]string) error {
	switch {
	case r.opts.Control != ControlExplicit:
		return status.New(status.Unsupported, "repository registration is not allowed if model control mode is not EXPLICIT")
	case r.paths == nil:
		return errNoPaths
	}
	ctx, cancel := context.WithTimeout(r.life, registerWait)
	defer cancel()
	return r.paths.Register(ctx, path, names)
}

// Unregister removes a path that Register added. The models that were loaded from it
// continue to serve.
func (r *Repository) Unregister(path string) error {
	switch {
	case r.opts.Control != ControlExplicit:
		return status.New(status.Unsupported, "repository unregistration is not allowed if model control mode is not EXPLICIT")
	case r.paths == nil:
		return errNoPaths
	}
	return r.paths.Unregister(path)
}

var errNoPaths = status.New(status.Unsupported, "the model repository does not consist of directories, so no path can be registered")
