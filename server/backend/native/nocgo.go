//go:build !cgo || !linux

package native

import (
	"context"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/server/backend"
)

var errBuild = status.New(status.Unsupported, "this program was built without cgo, or for another system than Linux")

// refuse is what AutoComplete and Load return.
func refuse(spec backend.Spec) error {
	return status.New(status.Unsupported, "model '%s' cannot run without Python: %w; remove its runtime, or use the program for Linux", spec.Name, errBuild)
}

func (e *openVINO) Ready(*inferencepb.ModelConfig, map[string]string) error { return errBuild }

func (e *openVINO) AutoComplete(_ context.Context, spec backend.Spec) error { return refuse(spec) }

func (e *openVINO) Load(_ context.Context, spec backend.Spec) (backend.Model, error) {
	return nil, refuse(spec)
}

func (e *trees) open(treesKind, map[string]string) error { return errBuild }

func (e *trees) AutoComplete(_ context.Context, spec backend.Spec) error { return refuse(spec) }

func (e *trees) Load(_ context.Context, spec backend.Spec) (backend.Model, error) {
	return nil, refuse(spec)
}
