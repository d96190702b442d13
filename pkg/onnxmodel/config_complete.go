package onnxmodel

import (
	"fmt"
	"slices"

	pb "triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// DefaultMaxBatch is the max_batch_size that Triton gives a model that can batch and
// has no max_batch_size (--backend-config=default-max-batch-size).
const DefaultMaxBatch = 4

// NeedsCompletion reports whether CompleteConfig has something to fill in: the configuration
// lists no inputs or no outputs.
func NeedsCompletion(cfg *pb.ModelConfig) bool { return lacksInputs(cfg) || len(cfg.Output) == 0 }

func lacksInputs(cfg *pb.ModelConfig) bool { return len(cfg.Input)+len(cfg.BatchInput) == 0 }

// CompleteConfig fills missing max_batch_size, dynamic batching, inputs and outputs from the
// graph. A configuration with inputs and outputs is not changed. defaultMaxBatch is the
// batch size for a graph that can batch and a configuration without max_batch_size. The
// notes are Triton's log lines about the changes. Normalize the configuration
// afterwards.
func CompleteConfig(cfg *pb.ModelConfig, graph *Model, defaultMaxBatch int) (notes []string, err error) {
	if !NeedsCompletion(cfg) {
		return []string{fmt.Sprintf("skipping model configuration auto-complete for '%s': inputs and outputs already specified", cfg.Name)}, nil
	}
	if err := OnlyTensors(graph); err != nil {
		return nil, err
	}
	switch {
	case Batches(graph):
		notes = completeBatching(cfg, defaultMaxBatch)
	case cfg.MaxBatchSize != 0:
		return nil, status.New(status.InvalidArg,
			"autofill failed for model '%s': model does not support batching while non-zero max_batch_size is specified", cfg.Name)
	}
	if lacksInputs(cfg) {
		if err := checkTypes(cfg.Name, "input", graph.Inputs); err != nil {
			return nil, err
		}
		for _, v := range graph.Inputs {
			in := &pb.ModelInput{Name: v.Name, DataType: pb.DataType(v.Elem.DataType())}
			in.Dims, in.Reshape = configDims(cfg, v)
			cfg.Input = append(cfg.Input, in)
		}
	}
	if len(cfg.Output) == 0 {
		if err := checkTypes(cfg.Name, "output", graph.Outputs); err != nil {
			return nil, err
		}
		for _, v := range graph.Outputs {
			out := &pb.ModelOutput{Name: v.Name, DataType: pb.DataType(v.Elem.DataType())}
			out.Dims, out.Reshape = configDims(cfg, v)
			cfg.Output = append(cfg.Output, out)
		}
	}
	return notes, nil
}

func completeBatching(cfg *pb.ModelConfig, defaultMaxBatch int) (notes []string) {
	if cfg.MaxBatchSize == 0 {
		cfg.MaxBatchSize = int32(max(defaultMaxBatch, 0))
		notes = append(notes, fmt.Sprintf("autofilled max_batch_size to %d for model '%s' since batching is supporrted but no "+
			"max_batch_size is specified in model configuration. Must specify max_batch_size to utilize autofill with a larger "+
			"max batch size", cfg.MaxBatchSize, cfg.Name))
	}
	if cfg.MaxBatchSize > 1 && cfg.GetDynamicBatching() == nil && cfg.GetSequenceBatching() == nil {
		cfg.SchedulingChoice = &pb.ModelConfig_DynamicBatching{DynamicBatching: &pb.ModelDynamicBatching{}}
	}
	return notes
}

// Batches reports whether the graph's first dimension can be the batch: every input and
// output has one and leaves it open. A graph without inputs has no batch, since the
// inputs of a request determine its batch size.
func Batches(graph *Model) bool {
	if len(graph.Inputs) == 0 {
		return false
	}
	open := func(v Value) bool { return len(v.Dims) > 0 && v.Dims[0] == -1 }
	not := func(v Value) bool { return !open(v) }
	return !slices.ContainsFunc(graph.Inputs, not) && !slices.ContainsFunc(graph.Outputs, not)
}

// OnlyTensors returns an error for the first input or output of the graph that is not a
// tensor, with what to do about it.
func OnlyTensors(graph *Model) error {
	if err := onlyTensors(slices.Concat(graph.Inputs, graph.Outputs)); err != nil {
		return status.Wrap(err, status.Unsupported, "%w (%s)", err, kindHint(graph.Outputs))
	}
	return nil
}

func onlyTensors(values []Value) error {
	for _, v := range values {
		if v.Kind != KindTensor {
			return status.New(status.Unsupported, "Unsupported ONNX Type '%s' for I/O '%s', expected 'ONNX_TYPE_TENSOR'.", v.Kind, v.Name)
		}
	}
	return nil
}

// checkTypes returns an error for the first value whose elements have no type in
// the protocol. It stops at a dimension of 0: the check of the configuration
// reports that one first, as Triton's does.
func checkTypes(model, kind string, values []Value) error {
	for _, v := range values {
		if v.Elem.DataType() == tensor.Invalid {
			return status.New(status.InvalidArg,
				"model %s '%s' must specify 'data_type' for %s: its ONNX type %s has no data type in the inference protocol; convert it in the model",
				kind, v.Name, model, v.Elem)
		}
		if slices.Contains(v.Dims, 0) {
			return nil
		}
	}
	return nil
}

// configDims returns the dims that the configuration lists for a value. A configuration
// has no scalars: they are [1], with a reshape if items are batched.
func configDims(cfg *pb.ModelConfig, v Value) ([]int64, *pb.ModelTensorReshape) {
	dims := slices.Clone(v.Dims)
	if cfg.MaxBatchSize > 0 && len(dims) > 0 {
		dims = dims[1:]
	}
	switch {
	case len(dims) > 0:
		return dims, nil
	case cfg.MaxBatchSize > 0:
		return []int64{1}, &pb.ModelTensorReshape{}
	}
	return []int64{1}, nil
}
