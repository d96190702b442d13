package model

import (
	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
)

// Describe returns the metadata of versions that have the same configuration.
func Describe(c *inferencepb.ModelConfig, versions ...string) *inferencepb.ModelMetadataResponse {
	m := &inferencepb.ModelMetadataResponse{Name: c.GetName(), Versions: versions, Platform: c.GetPlatform()}
	if m.Platform == "" {
		m.Platform = c.GetBackend()
	}
	add := func(name string, d inferencepb.DataType, dims []int64) *inferencepb.ModelMetadataResponse_TensorMetadata {
		t := &inferencepb.ModelMetadataResponse_TensorMetadata{Name: name, Datatype: tensor.DataType(d).String()}
		if c.GetMaxBatchSize() > 0 {
			t.Shape = append(t.Shape, -1)
		}
		t.Shape = append(t.Shape, dims...)
		return t
	}
	for _, in := range c.GetInput() {
		m.Inputs = append(m.Inputs, add(in.GetName(), in.GetDataType(), in.GetDims()))
	}
	for _, out := range c.GetOutput() {
		m.Outputs = append(m.Outputs, add(out.GetName(), out.GetDataType(), out.GetDims()))
	}
	return m
}
