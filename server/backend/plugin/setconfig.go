package plugin

import (
	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/status"
)

// merged returns the configuration that results when a backend sets its own. As in Triton it
// takes from that only inputs, outputs, the batch size, the scheduling choice if there is
// none, and whether the model is decoupled.
func merged(current *inferencepb.ModelConfig, text []byte) (*inferencepb.ModelConfig, error) {
	set, err := modelconfig.ParseJSON("TRITONBACKEND_ModelSetConfig", text)
	if err != nil {
		return nil, status.New(status.InvalidArg, "%w", err)
	}
	out := proto.CloneOf(current)
	out.Input, out.Output, out.MaxBatchSize = set.GetInput(), set.GetOutput(), set.GetMaxBatchSize()
	if out.SchedulingChoice == nil {
		out.SchedulingChoice = set.SchedulingChoice
	} else if a, b := scheduling(out), scheduling(set.ModelConfig); a != b && b != "" {
		return nil, status.New(status.Internal, "Cannot update scheduling choice from %s to %s when auto-completing.", a, a)
	}
	if set.GetModelTransactionPolicy() != nil {
		if out.ModelTransactionPolicy == nil {
			out.ModelTransactionPolicy = &inferencepb.ModelTransactionPolicy{}
		}
		out.ModelTransactionPolicy.Decoupled = set.Decoupled()
	}
	c := modelconfig.Config{ModelConfig: out}
	c.Normalize()
	return out, nil
}

// scheduling returns the name of the scheduling choice; empty: there is none.
func scheduling(c *inferencepb.ModelConfig) string {
	m := c.ProtoReflect()
	one := m.Descriptor().Oneofs().ByName("scheduling_choice")
	if f := m.WhichOneof(one); f != nil {
		return string(f.Name())
	}
	return ""
}
