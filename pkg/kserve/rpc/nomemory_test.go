package rpc_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve/rpc"
	"triton/pkg/tensor/tensortest"
)

// TestNoMemory refuses memory for typed contents.
func TestNoMemory(t *testing.T) {
	t.Parallel()
	wire, err := proto.Marshal(&inferencepb.ModelInferRequest{
		ModelName: "m",
		Inputs: []*inferencepb.ModelInferRequest_InferInputTensor{{
			Name: "x", Datatype: "INT32", Shape: []int64{2}, Contents: &inferencepb.InferTensorContents{IntContents: []int32{1, 2}},
		}},
	})
	require.NoError(t, err)
	m := tensortest.New(nil)
	c := rpc.NewCodec(m.Pool)
	for _, refuse := range []bool{false, true, false} {
		m.Refuse(nil)
		if refuse {
			m.Refuse(tensortest.Above(-1))
		}
		req, wrong, err := decode(t, c, wire, 0)
		wrong = errors.Join(wrong, err)
		if refuse {
			require.ErrorContains(t, wrong, "no memory for the 64 bytes of the tensors of the message")
			require.ErrorIs(t, wrong, tensortest.ErrRefused)
		} else {
			require.NoError(t, wrong)
			require.Equal(t, 8, req.Inputs[0].Data.Len())
		}
		req.Reset()
	}
	require.Zero(t, m.Outstanding())
}
