package profile

import (
	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
)

// completeConfig returns a configuration as its user wrote it, with what the server has added about the
// model itself: batch size, tensors, backend, dynamic batching and whether it is decoupled. The rest
// of the server's additions, such as instance groups, depends on the machine and stays open.
func completeConfig(written, served *inferencepb.ModelConfig) *inferencepb.ModelConfig {
	c := proto.Clone(written).(*inferencepb.ModelConfig)
	c.Name = served.GetName()
	if c.GetPlatform() == "" && c.GetBackend() == "" {
		c.Platform, c.Backend = served.GetPlatform(), served.GetBackend()
	}
	if c.GetEnsembleScheduling() != nil {
		return c // describes itself
	}
	if c.GetMaxBatchSize() == 0 {
		c.MaxBatchSize = served.GetMaxBatchSize()
	}
	if len(c.GetInput()) == 0 {
		c.Input = served.GetInput()
	}
	if len(c.GetOutput()) == 0 {
		c.Output = served.GetOutput()
	}
	if c.GetModelTransactionPolicy() == nil && served.Decoupled() {
		c.ModelTransactionPolicy = served.GetModelTransactionPolicy()
	}
	if c.GetSchedulingChoice() == nil && served.GetSchedulingChoice() != nil {
		c.SchedulingChoice = served.GetSchedulingChoice()
		if d := c.GetDynamicBatching(); d != nil {
			// The server prefers the largest batch, which the search may change.
			d = proto.Clone(d).(*inferencepb.ModelDynamicBatching)
			d.PreferredBatchSize = nil
			c.SchedulingChoice = &inferencepb.ModelConfig_DynamicBatching{DynamicBatching: d}
		}
	}
	return c
}
