//go:build !cgo || !linux

package trees

import (
	"context"

	"triton/pkg/status"
	"triton/server/backend"
)

var errBuild = status.New(status.Unsupported, "this program was built without cgo, or for another system than Linux")

func (e *Engine) open(kind, map[string]string) error { return errBuild }

// AutoComplete refuses.
func (e *Engine) AutoComplete(_ context.Context, spec backend.Spec) error { return e.refuse(spec) }

// Load refuses.
func (e *Engine) Load(_ context.Context, spec backend.Spec) (backend.Model, error) {
	return nil, e.refuse(spec)
}

func (e *Engine) refuse(spec backend.Spec) error {
	return status.New(status.Unsupported, "model '%s' cannot run without Python: %w; remove its runtime, or use the program for Linux", spec.Name, errBuild)
}
