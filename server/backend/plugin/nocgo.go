//go:build !cgo || !linux

package plugin

import (
	"context"
	"log/slog"

	"triton/pkg/modelconfig"
	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/infer"
)

// Backend refuses all models: this program was built without the ability to open libraries.
type Backend struct{ where Location }

// New returns the backend at a location.
func New(where Location) *Backend { return &Backend{where: where} }

// Library returns the path of the library.
func (b *Backend) Library() string { return b.where.Library }

// SettingsOf returns the name of the backend whose --backend-config pairs apply.
func (b *Backend) SettingsOf() string { return b.where.SettingsOf() }

func (b *Backend) refuse() error {
	return status.New(status.Unsupported, "backend '%s' requires a binary built with cgo, for Linux", b.where.Name)
}

// Prepare refuses.
func (b *Backend) Prepare(context.Context, backend.Spec) error { return b.refuse() }

// Preferred returns nothing.
func (b *Backend) Preferred() []modelconfig.PreferredGroup { return nil }

// AutoComplete refuses.
func (b *Backend) AutoComplete(context.Context, backend.Spec) error { return b.refuse() }

// Load refuses.
func (b *Backend) Load(context.Context, backend.Spec) (backend.Model, error) { return nil, b.refuse() }

// HasGPU reports false.
func (b *Backend) HasGPU() bool { return false }

// Strategy does not exist in this build.
type Strategy struct{}

// OpenStrategy refuses.
func OpenStrategy(path string, _ backend.Spec) (*Strategy, error) {
	return nil, status.New(status.Unsupported, "the batching library %s requires a binary built with cgo, for Linux", path)
}

// Begin does nothing.
func (*Strategy) Begin() {}

// Include reports false.
func (*Strategy) Include(*infer.Request) bool { return false }

// Close does nothing.
func (*Strategy) Close() {}

// Finalize does nothing.
func Finalize(*slog.Logger) {}

// Abandon does nothing.
func (b *Backend) Abandon() {}
