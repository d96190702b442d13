package lengthbucket

import (
	"bytes"
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
	"triton/server/infer"
)

// careless is a backend that responds with released memory.
type careless struct{ infer.Runner }

func (careless) Infer(ctx context.Context, r *infer.Request) (*infer.Response, error) {
	r.Unary()
	defer r.Release()
	in := r.Input("IN")
	gone := tensor.HeapBuffer(make([]byte, in.Data.Len()))
	gone.Release()
	resp := infer.NewResponse()
	resp.Add("OUT", in.DataType, in.Shape, tensor.NewData(gone))
	r.Respond(resp, true)
	return r.Wait(ctx)
}

// witness is a ResponseObserver that records errors.
type witness struct{ heard []error }

func (w *witness) Observe(_ *infer.Request, resp *infer.Response, _ bool) {
	w.heard = append(w.heard, resp.Err)
}

// TestAPanicOfATrim calls the next observer for a response whose outputs cannot be trimmed,
// as other requests may wait for it.
func TestAPanicOfATrim(t *testing.T) {
	t.Parallel()
	pool := tensor.NewPool()
	r, _ := request(pool, 2, 3, 1, 64)
	var log bytes.Buffer
	before := &witness{}
	r.Observer, r.Log = before, slog.New(slog.NewTextHandler(&log, nil))
	_, err := New(careless{}, plan(4), true, pool).Infer(t.Context(), r)
	require.ErrorIs(t, err, errInternal)
	require.Equal(t, []error{errInternal}, before.heard)
	require.Contains(t, log.String(), "panic while outputs were cut")
	r.Release()
	require.Zero(t, pool.Outstanding())
}
