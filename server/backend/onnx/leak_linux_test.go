//go:build cgo

package onnx

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/invariant"
	"triton/pkg/onnxmodel"
	"triton/pkg/tensor"
)

// resident returns the process's memory in bytes.
func resident(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	require.NoError(t, err)
	return pages * int64(os.Getpagesize())
}

// TestMemoryStaysFlat makes 10000 runs over each way that an output can take,
// and as many that fail. One value of 4 KB lost in a hundred would show. It is
// not parallel: it measures the process.
func TestMemoryStaysFlat(t *testing.T) {
	if invariant.Enabled {
		t.Skip("not with the race detector, under which pools drop what they are given")
	}
	text := tensor.AppendElementString(nil, strings.Repeat("x", 4000))
	number := make([]byte, 4000)
	cases := []struct {
		w    *world
		good input
		bad  input
	}{
		{load(t, specOf(t, identity(onnxmodel.Int32, "n"), 0)), input{"x", tensor.Int32, tensor.Shape{1000}, number}, input{}},
		{load(t, specOf(t, identity(onnxmodel.Int32, -1), 0)), input{"x", tensor.Int32, tensor.Shape{1000}, number}, input{}},
		{load(t, specOf(t, identity(onnxmodel.String, "n"), 0)), input{"x", tensor.Bytes, tensor.Shape{1}, text}, input{"x", tensor.Bytes, tensor.Shape{2}, text}},
	}
	rounds := func(n int) {
		for range n {
			for _, c := range cases {
				out, err := c.w.infer(c.w.inst, c.w.request(0, c.good))
				require.NoError(t, err)
				out[0].Release()
				if c.bad.name != "" {
					_, err = c.w.infer(c.w.inst, c.w.request(0, c.bad))
					require.Error(t, err)
				}
			}
		}
	}
	rounds(500)
	before := resident(t)
	rounds(10_000)
	require.Less(t, resident(t)-before, int64(4<<20))
}
