package rpc_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/mem"

	"triton/pkg/inferencepb"
	"triton/pkg/invariant"
	"triton/pkg/kserve"
	"triton/pkg/kserve/rpc"
	"triton/pkg/tensor"
)

// twoInputs is a request like those of Triton's "simple" model, with tensors of
// n bytes.
func twoInputs(n int) *inferencepb.ModelInferRequest {
	return &inferencepb.ModelInferRequest{
		ModelName: "simple",
		Inputs: []*inferencepb.ModelInferRequest_InferInputTensor{
			{Name: "INPUT0", Datatype: "UINT8", Shape: []int64{1, int64(n)}},
			{Name: "INPUT1", Datatype: "UINT8", Shape: []int64{1, int64(n)}},
		},
		Outputs: []*inferencepb.ModelInferRequest_InferRequestedOutputTensor{{Name: "OUTPUT0"}, {Name: "OUTPUT1"}},
		RawInputContents: [][]byte{
			make([]byte, n), make([]byte, n),
		},
	}
}

func twoOutputs(pool *tensor.Pool, n int) *kserve.Response {
	r := &kserve.Response{ModelName: "simple", ModelVersion: "1"}
	for _, name := range []string{"OUTPUT0", "OUTPUT1"} {
		t := r.AddOutput()
		t.Name, t.DataType, t.Shape, t.Data = name, tensor.Uint8, tensor.Shape{1, int64(n)}, tensor.NewData(pool.Get(n))
	}
	return r
}

var sizes = []int{64, 4 << 10, 64 << 10, 600 << 10}

func BenchmarkDecodeRequest(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c := rpc.NewCodec(tensor.NewPool())
			data := split(wire(b, twoInputs(n)), 16<<10)
			r := &rpc.Request{Message: &kserve.Request{}}
			b.ReportAllocs()
			for b.Loop() {
				if err := c.Unmarshal(data, r); err != nil || r.Err != nil || r.Broken != nil {
					b.Fatal(err, r.Err, r.Broken)
				}
				r.Message.Reset()
			}
		})
	}
}

func BenchmarkEncodeResponse(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			pool := tensor.NewPool()
			c := rpc.NewCodec(pool)
			r := twoOutputs(pool, n)
			b.ReportAllocs()
			for b.Loop() {
				out, err := c.Marshal(r)
				if err != nil {
					b.Fatal(err)
				}
				out.Free()
			}
		})
	}
}

// The budgets: what a small message costs in allocations when its names have
// been seen before.
func TestAllocations(t *testing.T) {
	if invariant.Enabled {
		t.Skip("pools forget on purpose in this build")
	}
	pool := tensor.NewPool()
	data := mem.BufferSlice{mem.SliceBuffer(wire(t, twoInputs(64)))}
	r := &rpc.Request{Message: &kserve.Request{}}
	n := math.Inf(1)
	var c *rpc.Codec
	for range 8 { // two names may share a place of a codec's table, which has a random seed
		c = rpc.NewCodec(pool)
		n = min(n, testing.AllocsPerRun(1000, func() {
			_ = c.Unmarshal(data, r)
			r.Message.Reset()
		}))
	}
	require.LessOrEqual(t, n, 0.1, "decode")
	resp := twoOutputs(pool, 64)
	n = testing.AllocsPerRun(1000, func() {
		out, _ := c.Marshal(resp)
		out.Free()
	})
	require.LessOrEqual(t, n, 1.1, "encode: the list of buffers")
	var buffer []byte
	n = testing.AllocsPerRun(1000, func() { buffer, _ = c.AppendMessage(buffer[:0], resp) })
	require.LessOrEqual(t, n, 0.1, "append")
	resp.Reset()
	require.Zero(t, pool.Outstanding())
}
