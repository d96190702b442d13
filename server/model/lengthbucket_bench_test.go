package model

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/invariant"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// reply answers each request with its inputs, without a goroutine.
type reply struct{ infer.Runner }

func (reply) Infer(ctx context.Context, r *infer.Request) (*infer.Response, error) {
	r.Unary()
	defer r.Release()
	r.Move(infer.Decoded, infer.Executing)
	in := r.Input("IN")
	resp := infer.NewResponse()
	resp.Add("OUT", tensor.Int32, in.Shape, in.Data.Clone())
	r.Respond(resp, true)
	return r.Wait(ctx)
}

// padAndTrim is one padded request, with its mask made and its output trimmed.
func padAndTrim(ctx context.Context, b *lengthRunner, pool *tensor.Pool, length int) {
	r := infer.NewRequest()
	r.Batch = 1
	in := r.AddInput()
	in.Name, in.DataType, in.Shape = "IN", tensor.Int32, append(in.Shape[:0], 1, int64(length), 1)
	in.Data = tensor.NewData(pool.Get(4 * length))
	resp, err := b.Infer(ctx, r)
	if err != nil {
		panic(err)
	}
	resp.Release()
	r.Release()
}

func TestLengthAllocations(t *testing.T) {
	if invariant.Enabled {
		t.Skip("the race detector makes sync.Pool forget on purpose")
	}
	pool := tensor.NewPool()
	b := newLengthRunner(reply{}, lengthPlan(64, 128), true, pool)
	require.Less(t, testing.AllocsPerRun(1000, func() { padAndTrim(t.Context(), b, pool, 100) }), 0.5)
	require.Zero(t, pool.Outstanding())
}

func BenchmarkPad(b *testing.B) {
	pool := tensor.NewPool()
	for name, length := range map[string]int{"none": 128, "28 of 128": 100} {
		b.Run(name, func(b *testing.B) {
			runner := newLengthRunner(reply{}, lengthPlan(64, 128), true, pool)
			b.ReportAllocs()
			for b.Loop() {
				padAndTrim(b.Context(), runner, pool, length)
			}
		})
	}
}
