//go:build cgo

package onnx

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
	"triton/server/infer"
	"triton/server/shm"
)

// ONNX Runtime reads inputs in the memory of a client and writes outputs there. A client that
// takes a page of it away fails its own request, and nothing else happens.
func TestClientMemoryThatIsGone(t *testing.T) {
	t.Parallel()
	w := load(t, specOf(t, simple(), 8))
	f, err := os.CreateTemp("/dev/shm", "triton_onnx_test_*")
	require.NoError(t, err)
	t.Cleanup(func() { os.Remove(f.Name()) })
	defer f.Close()
	m := shm.New(shm.Options{Allow: true})
	defer func() { require.NoError(t, m.Close()) }()
	const lost = "shared memory region 'r' is lost"
	for _, c := range []struct {
		name          string
		output, input int // their offsets; -1: elsewhere
		wantLost      string
	}{
		{name: "output before the end", output: 4096 - 64, input: -1},
		{name: "output across the end", output: 4096 - 32, input: -1, wantLost: lost},
		{name: "output behind the end", output: 6000, input: -1, wantLost: lost},
		{name: "input before the end", output: -1, input: 4096 - 64},
		{name: "input behind the end", output: -1, input: 4096, wantLost: lost},
	} {
		require.NoError(t, f.Truncate(8192), c.name)
		require.NoError(t, m.RegisterSystem("r", strings.TrimPrefix(f.Name(), "/dev/shm"), 0, 8192), c.name)
		s, err := m.Find("r", 0, 8192)
		require.NoError(t, err, c.name)
		require.NoError(t, f.Truncate(4096), c.name)
		r := simpleRequest(w, 1, 7)
		if c.output >= 0 {
			r.Outputs = append(r.Outputs, kserve.RequestedOutput{Name: "OUTPUT0", Into: tensor.Segment{Buffer: s.Buffer.Retain(), Off: c.output, N: 64}})
		}
		if c.input >= 0 {
			r.Inputs[0].Data.Release()
			r.Inputs[0].Data = tensor.SliceData(s.Buffer, c.input, 64)
		}
		var b infer.Batch
		b.Add(r)
		require.NoError(t, w.inst.Execute(context.Background(), &b), c.name)
		resp, err := r.Wait(context.Background())
		if c.wantLost == "" {
			require.NoError(t, err, c.name)
			resp.Release()
		} else {
			require.ErrorContains(t, err, c.wantLost, c.name)
		}
		if c.name == "output before the end" {
			require.Equal(t, ramp(1, 12, 4), s.Bytes()[c.output:c.output+64])
		}
		r.Release()
		r.Release()
		s.Buffer.Release()
		require.NoError(t, m.UnregisterSystem("r"), c.name)
	}
}
