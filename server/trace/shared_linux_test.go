package trace

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
	"triton/server/infer"
	"triton/server/infer/infertest"
)

// TestTruncatedMemory traces a tensor whose shared memory the client has truncated: the trace
// does not contain it.
func TestTruncatedMemory(t *testing.T) {
	t.Parallel()
	object, err := os.Create(filepath.Join(t.TempDir(), "object"))
	require.NoError(t, err)
	defer object.Close()
	require.NoError(t, object.Truncate(4096))
	mem, err := syscall.Mmap(int(object.Fd()), 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	require.NoError(t, err)
	defer func() { require.NoError(t, syscall.Munmap(mem)) }()
	require.NoError(t, object.Truncate(0))

	tr, file := open(t, "triton,file=%f", "level=TIMESTAMPS", "level=TENSORS", "rate=1")
	sampled := tr.Sample("m", nil)
	r := infer.NewRequest()
	r.ModelName, r.ModelVersion, r.Sink, r.Trace = "m", "1", infertest.Discard, sampled
	in := r.AddInput()
	in.Name, in.DataType, in.Shape = "IN", tensor.Int32, tensor.Shape{1024}
	in.Data = tensor.NewData(tensor.NewBuffer(mem, true, nil))
	r.EmitReceived()
	run(r)
	r.Release()
	sent(sampled)
	require.NoError(t, tr.Shutdown(context.Background()))
	for _, e := range read(t, file) {
		require.NotEqual(t, "TENSOR_QUEUE_INPUT", e.Activity)
	}
}
