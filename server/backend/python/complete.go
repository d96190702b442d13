package python

import (
	"context"

	"triton/pkg/modelconfig"
	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/hostpolicy"
)

// AutoComplete runs the model's auto_complete_config, if it has one, in a process of
// its own that ends with the call.
func (b *Backend) AutoComplete(ctx context.Context, spec backend.Spec) error {
	return b.complete(ctx, spec, nil)
}

// complete is AutoComplete with the program of r; nil: the model's own.
func (b *Backend) complete(ctx context.Context, spec backend.Spec, r *Runtime) (err error) {
	m, err := b.prepare(ctx, spec, r)
	if err != nil {
		return err
	}
	defer func() {
		if failed := m.Close(); err == nil {
			err = failed
		}
	}()
	c, err := m.start(ctx, spec.Name, hostpolicy.Policy{})
	if err != nil {
		return err
	}
	defer c.kill()
	a := m.info()
	a.Config = m.config
	text, err := c.ask(ctx, frameComplete, a)
	if err != nil || len(text) == 0 {
		return err
	}
	return adopt(spec, text)
}

// adopt takes over what a model may complete: inputs, outputs, the batch size, the
// scheduler if there is none, and whether it is decoupled.
func adopt(spec backend.Spec, text []byte) error {
	parsed, err := modelconfig.ParseJSON("auto_complete_config of "+spec.Name, text)
	if err != nil {
		return status.New(status.Internal, "Failed to parse auto-complete JSON.: %w", err)
	}
	to, from := spec.Config, parsed.ModelConfig
	to.Input, to.Output, to.MaxBatchSize = from.Input, from.Output, from.MaxBatchSize
	if to.SchedulingChoice == nil {
		to.SchedulingChoice = from.SchedulingChoice
	}
	if from.ModelTransactionPolicy != nil {
		to.ModelTransactionPolicy = from.ModelTransactionPolicy
	}
	return nil
}
