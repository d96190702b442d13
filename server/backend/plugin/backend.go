//go:build cgo && linux

package plugin

import (
	"context"

	"google.golang.org/protobuf/proto"

	"triton/pkg/modelconfig"
	"triton/server/backend"
)

// Backend loads one model of a library; a library has one for each load. Its methods are
// called in the order Prepare, AutoComplete, Load; a load that fails ends with Abandon.
type Backend struct {
	where Location
	lib   *library
	model *model // initialized and not loaded yet
}

// New returns the backend at a location. It opens nothing.
func New(where Location) *Backend { return &Backend{where: where} }

// Library returns the path of the library.
func (b *Backend) Library() string { return b.where.Library }

// SettingsOf returns the name of the backend whose --backend-config pairs apply.
func (b *Backend) SettingsOf() string { return b.where.SettingsOf() }

// Prepare opens the library.
func (b *Backend) Prepare(_ context.Context, spec backend.Spec) (err error) {
	if b.lib == nil {
		b.lib, err = open(b.where, &spec)
	}
	return err
}

// Preferred returns the instance groups that the library prefers.
func (b *Backend) Preferred() []modelconfig.PreferredGroup { return b.lib.preferred }

// HasGPU reports true: the library says itself which instances it refuses.
func (b *Backend) HasGPU() bool { return true }

// AutoComplete initializes the model, which may complete its configuration meanwhile.
func (b *Backend) AutoComplete(ctx context.Context, spec backend.Spec) error {
	if err := b.Prepare(ctx, spec); err != nil {
		return err
	}
	m, completed, err := newModel(b.lib, spec)
	if err != nil {
		return err
	}
	b.model = m
	if completed != nil {
		proto.Reset(spec.Config)
		proto.Merge(spec.Config, completed)
	}
	return nil
}

// Load returns the model that AutoComplete has initialized, with its final configuration.
func (b *Backend) Load(ctx context.Context, spec backend.Spec) (backend.Model, error) {
	if b.model == nil {
		if err := b.AutoComplete(ctx, spec); err != nil {
			return nil, err
		}
	}
	m := b.model
	if err := m.configure(spec.Config); err != nil {
		return nil, err
	}
	b.model = nil
	return m, nil
}

// Abandon ends a model that was initialized and will not be loaded.
func (b *Backend) Abandon() {
	if m := b.model; m != nil {
		b.model = nil
		if err := m.Close(); err != nil {
			m.spec.Log.Error(err.Error(), "model", m.spec.Name)
		}
	}
}
