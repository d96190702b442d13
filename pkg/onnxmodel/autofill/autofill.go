// Package autofill matches a model configuration with the outline of its ONNX
// file: Complete adds what the configuration leaves out, Check compares the
// two, both with the texts of Triton's ONNX Runtime backend. Server, linter and
// scaffold share it, so they agree. It neither reads files nor loads models.
package autofill

import (
	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/onnxmodel"
)

// Complete fills max_batch_size, dynamic batching, inputs and outputs from the
// graph where the configuration leaves them out. defaultMaxBatch is the batch
// size for a graph that can batch and a configuration that does not say. The
// notes are Triton's log lines about what was done. Normalize the configuration
// afterwards.
func Complete(cfg *inferencepb.ModelConfig, graph *onnxmodel.Model, defaultMaxBatch int) (notes []string, err error) {
	return nil, nil
}

// Check compares a complete configuration with the graph. The findings are in
// the order of Triton's checks; modelconfig.FirstError is what it reports.
func Check(cfg *inferencepb.ModelConfig, graph *onnxmodel.Model) []modelconfig.Finding {
	return nil
}
