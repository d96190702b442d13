//go:build cgo

package onnx

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// A client that has taken its memory away fails its own request; ONNX Runtime
// would have ended the process.
func TestClientMemoryThatIsGone(t *testing.T) {
	t.Parallel()
	w := load(t, specOf(t, simple(), 8))
	f, err := os.Create(filepath.Join(t.TempDir(), "memory"))
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, f.Truncate(8192))
	mem, err := unix.Mmap(int(f.Fd()), 0, 8192, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Munmap(mem)) }()
	require.NoError(t, f.Truncate(4096))
	region := tensor.NewBuffer(mem, true, nil)
	for off, want := range map[int]string{
		4096 - 64: "",
		4096 - 32: "the shared memory specified with the request for output 'OUTPUT0' became smaller than it was",
		6000:      "the shared memory specified with the request for output 'OUTPUT0' became smaller than it was",
	} {
		r := simpleRequest(w, 1, 7)
		r.Outputs = append(r.Outputs, kserve.RequestedOutput{Name: "OUTPUT0", Into: tensor.Segment{Buffer: region.Retain(), Off: off, N: 64}})
		var b infer.Batch
		b.Add(r)
		require.NoError(t, w.inst.Execute(context.Background(), &b))
		resp, err := r.Wait(context.Background())
		if want == "" {
			require.NoError(t, err)
			require.Equal(t, ramp(1, 12, 4), mem[off:off+64])
			resp.Release()
		} else {
			require.EqualError(t, err, want)
		}
		r.Release()
		r.Release()
	}
}
