//go:build cgo && (linux || darwin)

package onnx

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

// place is where a request wants an output.
type place struct {
	output string
	off, n int
}

// TestOutputsGoStraightIntoClientMemory looks at the address that ONNX Runtime
// wrote to: it is the client's, or the output is copied there.
func TestOutputsGoStraightIntoClientMemory(t *testing.T) {
	t.Parallel()
	const row = 64
	w := load(t, specOf(t, simple(), 8))
	for _, c := range []struct {
		name   string
		rows   int
		places []place
		heap   bool
		input  int // offset of INPUT0 in the region; -1: it is elsewhere
		direct int // of the first output; -1: copied
	}{
		{"exact", 1, []place{{"OUTPUT0", 0, row}}, false, -1, 0},
		{"within", 1, []place{{"OUTPUT1", 128, 500}}, false, -1, 128},
		{"three rows", 3, []place{{"OUTPUT0", 64, 3 * row}}, false, -1, 64},
		{"both", 1, []place{{"OUTPUT0", 64, row}, {"OUTPUT1", 128, row}}, false, -1, 64},
		{"odd address", 1, []place{{"OUTPUT0", 2, row}}, false, -1, -1},
		{"memory that may move", 1, []place{{"OUTPUT0", 0, row}}, true, -1, -1},
		{"over its own input", 1, []place{{"OUTPUT0", 0, row}, {"OUTPUT1", 256, row}}, false, 4, -1},
		{"beside its own input", 1, []place{{"OUTPUT0", 0, row}, {"OUTPUT1", 256, row}}, false, row, 0},
		{"over the other output", 1, []place{{"OUTPUT0", 64, row}, {"OUTPUT1", 124, row}}, false, -1, -1},
	} {
		inst := w.instance()
		region := w.spec.Pool.Get(1024)
		if c.heap {
			region.Release()
			region = tensor.HeapBuffer(make([]byte, 1024))
		}
		r := simpleRequest(w, c.rows, 7)
		if c.input >= 0 {
			copy(region.Bytes()[c.input:], ramp(1, 7, 3))
			r.Inputs[0].Data.Release()
			r.Inputs[0].Data = tensor.SliceData(region, c.input, row)
		}
		for _, p := range c.places {
			into := tensor.Segment{Buffer: region.Retain(), Off: p.off, N: p.n}
			r.Outputs = append(r.Outputs, kserve.RequestedOutput{Name: p.output, Into: into})
		}
		resps, err := w.infer(inst, r)
		require.NoError(t, err, c.name)
		want := map[string][]byte{"OUTPUT0": ramp(c.rows, 12, 4), "OUTPUT1": ramp(c.rows, 2, 2)}
		for k, p := range c.places {
			if c.name == "over the other output" && k == 0 {
				continue // the last one wins
			}
			require.Equal(t, want[p.output], region.Bytes()[p.off:p.off+c.rows*row], "%s %s", c.name, p.output)
			require.Zero(t, resps[0].Output(p.output).Data.Len(), "the response has it too")
		}
		first := 0
		if c.places[0].output == "OUTPUT1" {
			first = 1
		}
		at := uintptr(inst.out[first].data) - uintptr(unsafe.Pointer(unsafe.SliceData(region.Bytes())))
		require.Equal(t, c.direct >= 0, at == uintptr(c.direct), c.name)
		resps[0].Release()
		region.Release()
	}
}

// A batch of several requests writes into one buffer and is copied from there.
func TestABatchIsCopiedIntoClientMemory(t *testing.T) {
	t.Parallel()
	w := load(t, specOf(t, simple(), 8))
	region := w.spec.Pool.Get(256)
	a, b := simpleRequest(w, 1, 7), simpleRequest(w, 1, 9)
	b.Outputs = append(b.Outputs, kserve.RequestedOutput{Name: "OUTPUT0", Into: tensor.Segment{Buffer: region.Retain(), Off: 64, N: 64}})
	resps, err := w.infer(w.inst, a, b)
	require.NoError(t, err)
	require.Equal(t, ramp(1, 14, 4), region.Bytes()[64:128])
	require.Equal(t, ramp(1, 12, 4), bytesOf(t, resps[0], "OUTPUT0"))
	resps[0].Release()
	resps[1].Release()
	region.Release()
}
