package server_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
	"triton/server"
	"triton/server/backend"
	"triton/server/backend/backendtest"
	"triton/server/infer"
	"triton/server/servertest"
)

// lazy answers with outputs as large as the input and writes only a part of each: none,
// half, or half before it fails.
func lazy(r *infer.Request) *infer.Response {
	resp, in := infer.NewResponse(), r.Input("INPUT0")
	for _, name := range []string{"NONE", "HALF", "FAILED"} {
		out, err := r.Alloc(infer.Output{Name: name, DataType: tensor.Uint8, Size: in.Data.Len()})
		if err != nil {
			resp.Err = err
			break
		}
		if name != "NONE" {
			mem := out.Bytes()[:out.N/2]
			for i := range mem {
				mem[i] = 'w'
			}
		}
		if name == "FAILED" && r.Wants(name) {
			resp.Err = errors.New("half is written")
		}
		if r.Wants(name) {
			resp.Add(name, tensor.Uint8, in.Shape, tensor.SegmentData(out))
		} else {
			out.Buffer.Release()
		}
	}
	return resp
}

// TestRecycledMemoryShowsNothing fills the pool with the bytes of one client, and searches for
// them in the outputs that another client gets from a backend that writes too little.
func TestRecycledMemoryShowsNothing(t *testing.T) {
	t.Parallel()
	sources := map[string]tensor.Source{"anonymous": tensor.Anonymous{}}
	if shared, err := tensor.NewMemfd(); err == nil {
		sources["memfd"] = shared
	}
	for name, source := range sources {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := tensor.NewPoolOf(tensor.PoolOptions{Source: source})
			s := servertest.Start(t, servertest.Model("lazy", `backend: "lazy"
input { name: "INPUT0" data_type: TYPE_UINT8 dims: [ -1 ] }
output [ { name: "NONE" data_type: TYPE_UINT8 dims: [ -1 ] }, { name: "HALF" data_type: TYPE_UINT8 dims: [ -1 ] },
  { name: "FAILED" data_type: TYPE_UINT8 dims: [ -1 ] } ]
`), servertest.With(func(o *server.Options) {
				o.Pool, o.Backends["lazy"] = pool, backendtest.Func(func(context.Context, backend.Spec) (backend.Model, error) {
					return &backendtest.Model{Answer: lazy}, nil
				})
			}))
			m, err := s.Service().Model("lazy", "")
			require.NoError(t, err)
			defer m.Release()
			for _, n := range []int{1, 100, 4000, 70_000, 1 << 20} {
				stain(pool, n)
				requireClean(t, pool, m, n, []string{"NONE", "HALF"}, "")
				stain(pool, n)
				requireClean(t, pool, m, n, []string{"HALF", "FAILED"}, "half is written")
			}
		})
	}
}

// stain fills memory of all sizes up to n with a client's bytes.
func stain(pool *tensor.Pool, n int) {
	var held []*tensor.Buffer
	for range 8 {
		b := pool.Get(n)
		copy(b.Bytes(), bytes.Repeat([]byte("secret"), n/6+1))
		held = append(held, b)
	}
	for _, b := range held {
		b.Release()
	}
}

func requireClean(t *testing.T, pool *tensor.Pool, m infer.Model, n int, outputs []string, fails string) {
	t.Helper()
	r := infer.NewRequest()
	defer r.Release()
	in := r.AddInput()
	in.Name, in.DataType, in.Shape = "INPUT0", tensor.Uint8, append(in.Shape, int64(n))
	in.Data = tensor.NewData(pool.Get(n))
	for _, name := range outputs {
		r.Outputs = append(r.Outputs, requested(name))
	}
	resp, err := m.Infer(t.Context(), r)
	if fails != "" {
		require.ErrorContains(t, err, fails)
		return
	}
	require.NoError(t, err)
	defer resp.Release()
	for i := range resp.Outputs {
		o := &resp.Outputs[i]
		got, _ := o.Data.Contiguous()
		want := make([]byte, n)
		if o.Name == "HALF" {
			copy(want, bytes.Repeat([]byte("w"), n/2))
		}
		require.True(t, bytes.Equal(want, got), "%s of %d bytes", o.Name, n)
	}
}

func requested(name string) kserve.RequestedOutput { return kserve.RequestedOutput{Name: name} }
