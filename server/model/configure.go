package model

import (
	"context"
	"maps"
	"slices"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/server/backend"
)

// backendSettings returns the --backend-config pairs that apply to a backend.
func (b *Builder) backendSettings(f foundBackend) map[string]string {
	settings := map[string]string{}
	maps.Copy(settings, b.opts.BackendSettings[""])
	maps.Copy(settings, b.opts.BackendSettings[f.settings])
	if f.own != "" {
		maps.Copy(settings, b.opts.BackendSettings[f.own])
	}
	const rows = "default-max-batch-size"
	if _, chosen := b.opts.BackendSettings[f.settings][rows]; !chosen && settings[rows] != "" {
		b.opts.Log.Debug("Adding default backend config setting: " + rows + "," + settings[rows])
	}
	return settings
}

// preparer is a backend that must be prepared before it is asked about instance groups.
type preparer interface {
	Prepare(ctx context.Context, spec backend.Spec) error
}

// preferrer is a backend that prefers instance groups, for configurations that do not say.
type preferrer interface {
	Preferred() []modelconfig.PreferredGroup
}

// initializer is a backend whose AutoComplete runs in every load: it initializes the model, which
// Load then returns. Abandon ends it if the load fails in between.
type initializer interface {
	backend.AutoCompleter
	abandoner
}

type abandoner interface{ Abandon() }

// gpuUser is a backend that reports whether it can use GPUs.
type gpuUser interface{ HasGPU() bool }

// complete lets the backend fill in missing fields of the configuration, and checks the result.
func (b *Builder) complete(ctx context.Context, impl backend.Backend, c *modelconfig.Config, spec backend.Spec) error {
	if p, ok := impl.(preparer); ok {
		if err := p.Prepare(ctx, spec); err != nil {
			return err
		}
	}
	if err := b.completeInstanceGroups(impl, c); err != nil {
		return err
	}
	_, always := impl.(initializer)
	if a, ok := impl.(backend.AutoCompleter); ok && (b.opts.AutoComplete || always) {
		if err := a.AutoComplete(ctx, spec); err != nil {
			return err
		}
		c.Normalize()
	}
	if err := c.First(c.Validate()); err != nil {
		return err
	}
	return c.First(c.ValidateIO())
}

// completeInstanceGroups completes and checks the instance groups.
func (b *Builder) completeInstanceGroups(impl backend.Backend, c *modelconfig.Config) error {
	machine := b.opts.Machine
	if p, ok := impl.(preferrer); ok {
		machine.Preferred = p.Preferred()
	}
	if g, ok := impl.(gpuUser); !ok || !g.HasGPU() {
		placeOnCPU(c, machine)
	}
	c.NormalizeInstanceGroups(machine)
	return c.First(slices.Concat(c.ValidateBounds(b.opts.Bounds), c.ValidateInstanceGroups(machine), c.ValidatePassive()))
}

// placeOnCPU places the instances without a kind on the CPU. Instances for a GPU stay: the
// backend reports why it cannot run them.
func placeOnCPU(c *modelconfig.Config, m modelconfig.Machine) {
	if len(c.GetInstanceGroup()) == 0 {
		m.GPUs = nil
		c.NormalizeInstanceGroups(m)
	}
	for _, g := range c.GetInstanceGroup() {
		if g.GetKind() == inferencepb.ModelInstanceGroup_KIND_AUTO && len(g.GetGpus()) == 0 {
			g.Kind = inferencepb.ModelInstanceGroup_KIND_CPU
		}
	}
}
