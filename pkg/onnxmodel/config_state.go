package onnxmodel

import (
	"fmt"

	pb "triton/pkg/inferencepb"
)

// state checks an implicit state, which is an input and an output of the graph.
func (c *checker) state(i int, s *pb.ModelSequenceBatching_State) {
	path := fmt.Sprintf("sequence_batching.state[%d]", i)
	in, ok := c.graph.Input(s.InputName)
	switch {
	case !ok:
		c.unknown(path+".input_name", "input", s.InputName, c.graph.Inputs)
	case c.dataType(path, "input state", s.InputName, s.DataType, in):
		c.dims(path+".dims", s.InputName, s.Dims, in, false)
	}
	out, ok := c.graph.Output(s.OutputName)
	if !ok {
		c.unknown(path+".output_name", "output", s.OutputName, c.graph.Outputs)
		return
	}
	// Its shape may follow from what clients send.
	if c.dataType(path, "output state", s.OutputName, s.DataType, out) {
		c.scalar(path+".dims", out)
	}
}
