//go:build !cgo || !(linux || darwin)

package onnx

import (
	"context"

	"triton/pkg/onnxmodel"
	"triton/pkg/status"
	"triton/server/backend"
)

// Load returns an error: this build cannot run ONNX models.
func (b *Backend) Load(_ context.Context, spec backend.Spec) (backend.Model, error) {
	err := status.New(status.Unsupported,
		"model '%s' needs ONNX Runtime, and this program was built without cgo: use a build with CGO_ENABLED=1 on Linux or macOS", spec.Name)
	err.Cause = backend.ErrNoLibrary
	return nil, err
}

// inspect returns an error: models cannot be opened without cgo.
func (b *Backend) inspect(backend.Spec, string) (*onnxmodel.Model, error) {
	return nil, backend.ErrNoLibrary
}

// Linked reports whether this program can load ONNX Runtime.
const Linked = false

// Version returns an error: this build cannot load libraries.
func Version(string) (string, error) { return "", backend.ErrNoLibrary }

// HasGPU returns false in a build without cgo.
func (b *Backend) HasGPU() bool { return false }

// Trim has no effect in a build without cgo.
func Trim() {}
