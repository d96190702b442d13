//go:build !cgo || !linux

package openvino

import (
	"context"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/server/backend"
)

var errBuild = status.New(status.Unsupported, "this program was built without cgo, or for another system than Linux")

// Ready refuses.
func (e *Engine) Ready(*inferencepb.ModelConfig, map[string]string) error { return errBuild }

// AutoComplete refuses.
func (e *Engine) AutoComplete(_ context.Context, spec backend.Spec) error { return refuse(spec) }

// Load refuses.
func (e *Engine) Load(_ context.Context, spec backend.Spec) (backend.Model, error) {
	return nil, refuse(spec)
}

func refuse(spec backend.Spec) error {
	return status.New(status.Unsupported, "model '%s' cannot run without Python: %w; remove its runtime, or use the program for Linux", spec.Name, errBuild)
}
