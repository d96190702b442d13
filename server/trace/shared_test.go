package trace

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
	"triton/server/infer"
	"triton/server/infer/infertest"
)

// taken is memory that a client has taken away.
type taken struct{}

func (taken) Free(*tensor.Buffer) {}
func (taken) Foreign()            {}
func (taken) Lost() error         { return errors.New("region 'r' is lost") }

// TestTruncatedMemory traces a tensor whose shared memory the client has truncated: the trace
// does not contain it.
func TestTruncatedMemory(t *testing.T) {
	t.Parallel()
	tr, file := open(t, "triton,file=%f", "level=TIMESTAMPS", "level=TENSORS", "rate=1")
	sampled := tr.Sample("m", nil)
	r := infer.NewRequest()
	r.ModelName, r.ModelVersion, r.Sink, r.Trace = "m", "1", infertest.Discard, sampled
	in := r.AddInput()
	in.Name, in.DataType, in.Shape = "IN", tensor.Int32, tensor.Shape{1024}
	in.Data = tensor.NewData(tensor.NewBuffer(make([]byte, 4096), true, taken{}))
	r.EmitReceived()
	run(r)
	r.Release()
	sent(sampled)
	require.NoError(t, tr.Shutdown(context.Background()))
	for _, e := range read(t, file) {
		require.NotEqual(t, "TENSOR_QUEUE_INPUT", e.Activity)
	}
}
