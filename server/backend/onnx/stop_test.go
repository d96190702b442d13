//go:build cgo && (linux || darwin)

package onnx

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/onnxmodel"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// power returns a chain of products of x with itself: seconds of work for a large x,
// microseconds for a small one.
func power() *onnxmodel.File {
	x := onnxmodel.Tensor("x", onnxmodel.Float, "n", "n")
	f := &onnxmodel.File{Inputs: []onnxmodel.Value{x}, Outputs: []onnxmodel.Value{onnxmodel.Tensor("y", onnxmodel.Float, "n", "n")}}
	const products = 2000
	last := "x"
	for k := range products {
		next := "t" + string(rune('A'+k%26)) + string(rune('A'+k/26))
		if k == products-1 {
			next = "y"
		}
		f.Nodes = append(f.Nodes, onnxmodel.Node{Op: "MatMul", Inputs: []string{last, "x"}, Outputs: []string{next}})
		last = next
	}
	return f
}

func TestARunStopsWhenNobodyWaits(t *testing.T) {
	t.Parallel()
	w := load(t, specOf(t, power(), 0))
	square := func(n int64) *infer.Request {
		return w.request(0, input{"x", tensor.FP32, tensor.Shape{n, n}, make([]byte, 4*n*n)})
	}
	healthy := func() {
		resp, err := w.infer(w.inst, square(1))
		require.NoError(t, err)
		resp[0].Release()
	}
	healthy()
	r := square(1024)
	time.AfterFunc(30*time.Millisecond, r.Cancel)
	_, err := w.infer(w.inst, r)
	require.Equal(t, status.Cancelled, status.CodeOf(err), "a run that is not stopped has no error")
	require.Empty(t, err.Error())
	healthy()

	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(30*time.Millisecond, cancel)
	r = square(1024)
	defer r.Release()
	defer r.Release()
	var b infer.Batch
	b.Add(r)
	err = w.inst.Execute(ctx, &b)
	require.Equal(t, status.Unavailable, status.CodeOf(err))
	require.ErrorIs(t, err, context.Canceled)
	healthy()
}
