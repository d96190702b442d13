//go:build cgo && (linux || darwin)

package onnx

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/onnxmodel"
	"triton/pkg/tensor"
)

// FuzzStrings gives the C reader of BYTES tensors any bytes: it takes exactly
// those that Go's own reader finds whole, and they come back unchanged.
func FuzzStrings(f *testing.F) {
	two := tensor.AppendElementString(tensor.AppendElementString(nil, "a\x00b"), "")
	f.Add(two, uint8(2))
	f.Add(two, uint8(1))
	f.Add(two, uint8(3))
	f.Add(two[:6], uint8(1))
	f.Add([]byte{255, 255, 255, 255, 1}, uint8(1))
	f.Add([]byte{}, uint8(0))
	w := load(f, specOf(f, identity(onnxmodel.String, -1), 0))
	f.Fuzz(func(t *testing.T, data []byte, elements uint8) {
		w := &world{TB: t, spec: w.spec, inst: w.inst}
		n, err := tensor.CountElements(data)
		valid := err == nil && n == int(elements)
		out, err := w.infer(w.inst, w.request(0, input{"x", tensor.Bytes, tensor.Shape{int64(elements)}, data}))
		require.Equal(t, valid, err == nil, "%v", err)
		if valid {
			require.Equal(t, string(data), string(bytesOf(t, out[0], "y")))
			out[0].Release()
		}
	})
}
