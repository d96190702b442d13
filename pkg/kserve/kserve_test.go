package kserve

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
)

// TestReset checks that usual messages allocate nothing the second time and that
// the storage of unusual ones is dropped.
func TestReset(t *testing.T) {
	fill := func(r *Request, inputs, rank int) {
		for range inputs {
			in := r.AddInput()
			in.Name, in.DataType = "x", tensor.FP32
			for range rank {
				in.Shape = append(in.Shape, 1)
			}
		}
		r.Parameters = append(r.Parameters, Parameter{Name: "p", Kind: ParamString, String: "s"})
		r.Outputs = append(r.Outputs, RequestedOutput{Name: "y"})
	}
	var r Request
	fill(&r, 3, 4)
	r.Reset()
	require.Zero(t, testing.AllocsPerRun(10, func() {
		fill(&r, 3, 4)
		r.Reset()
	}))
	long := strings.Repeat("x", 1<<20)
	r.AddInput().Name = long
	r.Parameters = append(r.Parameters, Parameter{Name: long, String: long})
	r.Outputs = append(r.Outputs, RequestedOutput{Name: long})
	r.Reset()
	require.Zero(t, r.Inputs[:1][0].Name)
	require.Zero(t, r.Parameters[:1][0])
	require.Zero(t, r.Outputs[:1][0])
	fill(&r, 1, 100000)
	r.Reset()
	require.Zero(t, cap(r.AddInput().Shape))
	fill(&r, 100000, 1)
	r.Reset()
	require.Zero(t, cap(r.Inputs))
}
