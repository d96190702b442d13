package native

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/infer"
)

// copier is a library that returns its input.
type copier struct {
	shape  tensor.Shape // instead of that of the input
	fail   error
	stop   chan struct{} // a run lasts until Stop
	closed bool
}

func (c *copier) Run(_ int, in []backend.Gathered, _ []bool) ([]result, error) {
	if c.stop != nil {
		<-c.stop
		return nil, errors.New("cancelled")
	}
	shape := in[0].Shape
	if c.shape != nil {
		shape = c.shape
	}
	return []result{{shape, in[0].Bytes}}, c.fail
}

func (c *copier) Stop()  { close(c.stop) }
func (c *copier) Close() { c.closed = true }

func start(t *testing.T, c *copier) (backend.Instance, *tensor.Pool) {
	t.Helper()
	pool := tensor.NewPool()
	config := &inferencepb.ModelConfig{
		Name: "m", MaxBatchSize: 4,
		Input:  []*inferencepb.ModelInput{{Name: "x", DataType: inferencepb.DataType_TYPE_UINT8, Dims: []int64{2}}},
		Output: []*inferencepb.ModelOutput{{Name: "y", DataType: inferencepb.DataType_TYPE_UINT8, Dims: []int64{2}}},
	}
	i := newInstance(backend.Spec{Name: "m", Config: config, Pool: pool}, backend.NewFullSignature(config), backend.Placement{Name: "m_0_0"}, c)
	t.Cleanup(func() {
		require.NoError(t, i.Close())
		require.True(t, c.closed)
		require.Zero(t, pool.Outstanding())
	})
	return i, pool
}

func ask(pool *tensor.Pool, data ...byte) *infer.Request {
	r := infer.NewRequest()
	r.Unary()
	r.Batch, r.Pool = len(data)/2, pool
	in := r.AddInput()
	in.Name, in.DataType, in.Shape = "x", tensor.Uint8, tensor.Shape{int64(len(data) / 2), 2}
	buf := pool.Get(len(data))
	copy(buf.Bytes(), data)
	in.Data = tensor.NewData(buf)
	return r
}

func run(ctx context.Context, t *testing.T, i backend.Instance, rs ...*infer.Request) ([][]byte, error) {
	t.Helper()
	var b infer.Batch
	for _, r := range rs {
		b.Add(r)
	}
	err := i.Execute(ctx, &b)
	var got [][]byte
	for _, r := range rs {
		if err == nil {
			resp, failed := r.Wait(t.Context())
			require.NoError(t, failed)
			out := make([]byte, resp.Output("y").Data.Len())
			resp.Output("y").Data.CopyTo(out)
			got = append(got, out)
			resp.Release()
		}
		r.Release()
		r.Release()
	}
	return got, err
}

func TestInstanceSplitsABatch(t *testing.T) {
	t.Parallel()
	i, pool := start(t, &copier{})
	got, err := run(t.Context(), t, i, ask(pool, 1, 2), ask(pool, 3, 4, 5, 6))
	require.NoError(t, err)
	require.Equal(t, [][]byte{{1, 2}, {3, 4, 5, 6}}, got)
	_, err = run(t.Context(), t, i, ask(pool, 1, 2, 3, 4, 5, 6), ask(pool, 1, 2, 3, 4, 5, 6))
	require.EqualError(t, err, "batch size 6 for 'm_0_0', max allowed is 4")
}

func TestInstanceFaults(t *testing.T) {
	t.Parallel()
	i, pool := start(t, &copier{fail: errors.New("broken")})
	_, err := run(t.Context(), t, i, ask(pool, 1, 2))
	require.EqualError(t, err, "broken")
	i, pool = start(t, &copier{shape: tensor.Shape{1, 3}})
	_, err = run(t.Context(), t, i, ask(pool, 1, 2))
	require.EqualError(t, err, "output 'y' of 'm_0_0' has shape [3], the configuration lists [2]")
}

// A run that nobody waits for is stopped.
func TestInstanceStops(t *testing.T) {
	t.Parallel()
	i, pool := start(t, &copier{stop: make(chan struct{})})
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := run(ctx, t, i, ask(pool, 1, 2))
	require.EqualError(t, err, "interrupted because the server stops")
}
