package rpc_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve/rpc"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// TestContentsOutOfRange: the contents of narrow types travel in fields of 32 bits. What
// does not fit is refused, not cut off.
func TestContentsOutOfRange(t *testing.T) {
	t.Parallel()
	for kind, c := range map[string]struct {
		contents *inferencepb.InferTensorContents
		want     string
	}{
		"INT8":   {&inferencepb.InferTensorContents{IntContents: []int32{-128, 128}}, "element 1 is 128, which is outside of the range of INT8, -128 to 127"},
		"INT16":  {&inferencepb.InferTensorContents{IntContents: []int32{math.MinInt32, 0}}, "element 0 is -2147483648, which is outside of the range of INT16, -32768 to 32767"},
		"UINT8":  {&inferencepb.InferTensorContents{UintContents: []uint32{255, math.MaxUint32}}, "element 1 is 4294967295, which is outside of the range of UINT8, 0 to 255"},
		"UINT16": {&inferencepb.InferTensorContents{UintContents: []uint32{65535, 65536}}, "element 1 is 65536, which is outside of the range of UINT16, 0 to 65535"},
	} {
		msg, err := proto.Marshal(&inferencepb.ModelInferRequest{ModelName: "m", Inputs: []*inferencepb.ModelInferRequest_InferInputTensor{
			{Name: "A", Datatype: kind, Shape: []int64{2}, Contents: c.contents},
		}})
		require.NoError(t, err)
		pool := tensor.NewPool()
		m, wrong, err := decode(t, rpc.NewCodec(pool), msg, 0)
		require.NoError(t, err)
		require.EqualError(t, wrong, "unable to convert the contents of tensor 'A': "+c.want)
		require.Equal(t, status.InvalidArg, status.CodeOf(wrong))
		m.Reset()
		require.Zero(t, pool.Outstanding())
	}
	// An element by itself, not packed.
	in := []byte("\x0a\x01A\x12\x04INT8\x1a\x01\x02")
	content := append([]byte{0x10, 1}, append([]byte{0x10}, protowire.AppendVarint(nil, 128)...)...)
	in = append(protowire.AppendVarint(append(in, 0x2a), uint64(len(content))), content...)
	_, wrong, err := decode(t, rpc.NewCodec(tensor.NewPool()), append(protowire.AppendVarint([]byte{0x2a}, uint64(len(in))), in...), 0)
	require.NoError(t, err)
	require.ErrorContains(t, wrong, "element 1 is 128")
}
