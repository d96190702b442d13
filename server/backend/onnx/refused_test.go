//go:build cgo && (linux || darwin)

package onnx

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/onnxmodel"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/pkg/tensor/tensortest"
)

// TestNoMemoryForOutputs refuses memory for outputs that cannot be lent: strings,
// and an output that is an input. The batch fails, and the instance goes on.
func TestNoMemoryForOutputs(t *testing.T) {
	t.Parallel()
	through := identity(onnxmodel.Int32, -1)
	through.Outputs = append(through.Outputs, through.Inputs[0])
	for _, c := range []struct {
		name, output string
		file         *onnxmodel.File
		in           input
	}{
		{"strings", "y", identity(onnxmodel.String, -1), input{"x", tensor.Bytes, tensor.Shape{2}, tensor.AppendElementString(tensor.AppendElementString(nil, "a"), "bc")}},
		{"an input", "x", through, input{"x", tensor.Int32, tensor.Shape{2}, int32s(7, 8)}},
	} {
		spec, m := specOf(t, c.file, 0), tensortest.New(nil)
		spec.Pool = m.Pool
		w := load(t, spec)
		for _, refuse := range []bool{false, true, false} {
			r := w.request(0, c.in)
			if refuse {
				m.Refuse(tensortest.Above(-1))
			}
			out, err := w.infer(w.inst, r)
			m.Refuse(nil)
			if refuse {
				require.ErrorContains(t, err, "no memory for ", c.name)
				require.ErrorIs(t, err, tensortest.ErrRefused)
				require.Equal(t, status.Internal, status.CodeOf(err))
				continue
			}
			require.NoError(t, err, c.name)
			require.Equal(t, c.in.bytes, bytesOf(t, out[0], c.output))
			out[0].Release()
		}
		require.Zero(t, m.Outstanding())
	}
}
