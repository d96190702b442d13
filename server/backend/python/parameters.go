package python

import (
	"triton/pkg/inferencepb"
	"triton/pkg/status"
)

// checkParameters checks the parameters of NVIDIA's Python backend that have no effect here:
// inputs are always in the memory of the CPU.
func checkParameters(c *inferencepb.ModelConfig) error {
	p, ok := c.GetParameters()["FORCE_CPU_ONLY_INPUT_TENSORS"]
	if v := p.GetStringValue(); ok && v != "yes" && v != "no" {
		return status.New(status.Unsupported, "Incorrect value for FORCE_CPU_ONLY_INPUT_TENSORS: %s'", v)
	}
	return nil
}
