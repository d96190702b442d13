package model

import (
	"bytes"
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
	"triton/server/infer"
	"triton/server/infer/infertest"
)

// careless is a backend that responds with released memory.
type careless struct{ infer.Runner }

func (careless) Infer(ctx context.Context, r *infer.Request) (*infer.Response, error) {
	r.Unary()
	defer r.Release()
	in := r.Input("IN")
	released := tensor.HeapBuffer(make([]byte, in.Data.Len()))
	released.Release()
	resp := infer.NewResponse()
	resp.Add("OUT", in.DataType, in.Shape, tensor.NewData(released))
	r.Respond(resp, true)
	return r.Wait(ctx)
}

// TestAPanicOfATrim calls the next observer for a response whose outputs cannot be trimmed,
// as other requests may wait for it.
func TestAPanicOfATrim(t *testing.T) {
	t.Parallel()
	pool := tensor.NewPool()
	r, _ := lengthRequest(pool, 2, 3, 1, 64)
	var log bytes.Buffer
	var observed []error
	r.Observer = infertest.ObserverFunc(func(_ *infer.Request, resp *infer.Response, _ bool) { observed = append(observed, resp.Err) })
	r.Log = slog.New(slog.NewTextHandler(&log, nil))
	_, err := newLengthRunner(careless{}, lengthPlan(4), true, pool).Infer(t.Context(), r)
	require.ErrorIs(t, err, errOutputLength)
	require.Equal(t, []error{errOutputLength}, observed)
	require.Contains(t, log.String(), "panic while outputs were trimmed")
	r.Release()
	require.Zero(t, pool.Outstanding())
}
