package offline

import (
	"context"
	"fmt"

	"triton/perf/data"
	"triton/pkg/client"
	"triton/pkg/tensor"
)

// model is what a run knows of its model.
type model struct {
	name, version string
	inputs        []data.Tensor // without the batch dimension
	batching      bool
	batch         int // rows in a request
}

// describe reads the model's description from the server.
func describe(ctx context.Context, c Client, o *Options) (*model, error) {
	meta, err := c.ModelMetadata(ctx, o.Model, o.Version)
	if err != nil {
		return nil, fmt.Errorf("read the metadata of model %s: %w", o.Model, err)
	}
	config, err := c.ModelConfig(ctx, o.Model, o.Version)
	if err != nil {
		return nil, fmt.Errorf("read the configuration of model %s: %w", o.Model, err)
	}
	switch {
	case config.Decoupled():
		return nil, fmt.Errorf("model %s is decoupled: it may answer a row any number of times, so there is no one line for each row", o.Model)
	case config.GetSequenceBatching() != nil:
		return nil, fmt.Errorf("model %s keeps a state for each sequence: its rows are not independent", o.Model)
	}
	limit := int(config.GetMaxBatchSize())
	m := &model{name: o.Model, version: o.Version, batching: limit > 0, batch: max(limit, 1)}
	switch {
	case o.BatchSize > m.batch && limit == 0:
		return nil, fmt.Errorf("batch size %d: model %s does not support batching (its max_batch_size is 0)", o.BatchSize, o.Model)
	case o.BatchSize > m.batch:
		return nil, fmt.Errorf("batch size %d is larger than max_batch_size %d of model %s", o.BatchSize, limit, o.Model)
	case o.BatchSize > 0:
		m.batch = o.BatchSize
	}
	return m, m.addInputs(meta.GetInputs(), config)
}

func (m *model) addInputs(list []*client.TensorMetadata, config *client.ModelConfig) error {
	for _, t := range list {
		dt, ok := tensor.ParseDataType(t.GetDatatype())
		if !ok {
			return fmt.Errorf("input %q of model %s has the unknown data type %q", t.GetName(), m.name, t.GetDatatype())
		}
		in := data.Tensor{Name: t.GetName(), DataType: dt, Shape: t.GetShape()}
		if m.batching && len(in.Shape) > 0 {
			in.Shape = in.Shape[1:]
		}
		for _, c := range config.GetInput() {
			if c.GetName() == in.Name {
				in.Optional, in.ShapeTensor = c.GetOptional(), c.GetIsShapeTensor()
			}
		}
		if in.ShapeTensor && m.batching {
			m.batch = 1 // the rows of a batch share it
		}
		m.inputs = append(m.inputs, in)
	}
	if len(m.inputs) == 0 {
		return fmt.Errorf("model %s has no inputs", m.name)
	}
	return nil
}
