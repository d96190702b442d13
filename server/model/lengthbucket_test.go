package model

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/modelconfig/extension"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
	"triton/server/infer/infertest"
)

// echo answers at once: OUT is IN. It records the requests.
type echo struct {
	infer.Runner
	shape, mask tensor.Shape
	masked      []byte
	ends        []byte // the last place of the first row
	short       bool   // OUT lacks a place
}

func (e *echo) Infer(ctx context.Context, r *infer.Request) (*infer.Response, error) {
	r.Unary()
	defer r.Release()
	r.Move(infer.Decoded, infer.Executing)
	in := r.Input("IN")
	e.shape = in.Shape.Clone()
	data, _ := in.Data.Contiguous()
	if m := r.Input("MASK"); m != nil {
		e.mask = m.Shape.Clone()
		mem, _ := m.Data.Contiguous()
		e.masked = append([]byte(nil), mem...)
	}
	e.ends = append([]byte(nil), data[max(len(data)-4, 0):]...)
	resp := infer.NewResponse()
	shape := e.shape.Clone()
	if e.short {
		shape[1]--
	}
	resp.Add("OUT", tensor.Int32, shape, in.Data.Clone())
	r.Respond(resp, true)
	return r.Wait(ctx)
}

func lengthPlan(buckets ...int64) *extension.Lengths {
	return &extension.Lengths{
		Buckets: buckets,
		Inputs:  []extension.Padded{{Axis: extension.Axis{Name: "IN", DataType: tensor.Int32, Dims: tensor.Shape{-1, -1}}, Fill: []byte{7, 0, 0, 0}}},
		Mask: &extension.Padded{
			Axis: extension.Axis{Name: "MASK", DataType: tensor.Uint8, Dims: tensor.Shape{-1}}, Fill: []byte{0}, Real: []byte{1},
		},
		Outputs: []extension.Axis{{Name: "OUT", DataType: tensor.Int32, Dims: tensor.Shape{-1, -1}}},
	}
}

// lengthRequest has rows of length x width numbers, in pieces of some bytes.
func lengthRequest(pool *tensor.Pool, rows, length, width, piece int) (*infer.Request, []byte) {
	r := infer.NewRequest()
	r.ModelName, r.Batch, r.Pool = "m", rows, pool
	in := r.AddInput()
	in.Name, in.DataType = "IN", tensor.Int32
	in.Shape = append(in.Shape[:0], int64(rows), int64(length), int64(width))
	var data []byte
	for i := range rows * length * width {
		data = binary.LittleEndian.AppendUint32(data, uint32(i))
	}
	for at := 0; at < len(data); at += piece {
		b := pool.Get(min(piece, len(data)-at))
		copy(b.Bytes(), data[at:])
		in.Data.Append(b, 0, b.Len())
		b.Release()
	}
	return r, data
}

// The response of an echo model equals its input, in any segmentation.
func TestThereAndBack(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		rows, length, width, piece := 1+random.IntN(4), 1+random.IntN(20), random.IntN(4), 1+random.IntN(64)
		name := fmt.Sprintf("rows %d, length %d, width %d, pieces of %d", rows, length, width, piece)
		pool := tensor.NewPool()
		e := &echo{}
		r, data := lengthRequest(pool, rows, length, width, piece)
		resp, err := newLengthRunner(e, lengthPlan(4, 8, 20), true, pool).Infer(t.Context(), r)
		require.NoError(t, err, name)
		bucket := map[bool]int64{true: 4, false: 8}[length <= 4]
		if length > 8 {
			bucket = 20
		}
		require.Equal(t, tensor.Shape{int64(rows), bucket, int64(width)}, e.shape, name)
		if int64(length) < bucket && width > 0 {
			require.Equal(t, []byte{7, 0, 0, 0}, e.ends, name)
		}
		require.Equal(t, tensor.Shape{int64(rows), bucket}, e.mask, name)
		for i, m := range e.masked {
			require.Equal(t, int64(i)%bucket < int64(length), m == 1, name)
		}
		out := resp.Output("OUT")
		require.Equal(t, tensor.Shape{int64(rows), int64(length), int64(width)}, out.Shape, name)
		got := make([]byte, out.Data.Len())
		out.Data.CopyTo(got)
		require.Equal(t, data, append([]byte(nil), got...), name)
		resp.Release()
		r.Release()
		require.Zero(t, pool.Outstanding(), name)
	}
}

func TestLengthsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		length int
		mask   int
		code   status.Code
		want   string
	}{
		"too long":     {9, 9, status.InvalidArg, "[request id: x] length 9 is more than the largest length bucket of model 'm', which is 8"},
		"empty":        {0, 0, status.InvalidArg, "[request id: x] the inputs of model 'm' have length 0, which is in no length bucket"},
		"not the same": {3, 4, status.InvalidArg, "[request id: x] inputs 'IN' and 'MASK' of model 'm' must have the same length, got 3 and 4"},
	} {
		pool := tensor.NewPool()
		r, _ := lengthRequest(pool, 1, c.length, 2, 64)
		r.ID = "x"
		m := r.AddInput()
		m.Name, m.DataType, m.Shape = "MASK", tensor.Uint8, tensor.Shape{1, int64(c.mask)}
		_, err := newLengthRunner(&echo{}, lengthPlan(4, 8), true, pool).Infer(t.Context(), r)
		require.EqualError(t, err, c.want, name)
		require.Equal(t, c.code, status.CodeOf(err), name)
		r.Release()
		require.Zero(t, pool.Outstanding(), name)
	}
}

// A mask that the client sent is padded, not made again.
func TestMaskOfTheClient(t *testing.T) {
	t.Parallel()
	pool := tensor.NewPool()
	r, _ := lengthRequest(pool, 2, 3, 1, 64)
	m := r.AddInput()
	m.Name, m.DataType, m.Shape = "MASK", tensor.Uint8, tensor.Shape{2, 3}
	b := pool.Get(6)
	copy(b.Bytes(), []byte{1, 0, 1, 0, 0, 1})
	m.Data = tensor.NewData(b)
	e := &echo{}
	resp, err := newLengthRunner(e, lengthPlan(4), true, pool).Infer(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, []byte{1, 0, 1, 0, 0, 0, 1, 0}, e.masked)
	resp.Release()
	r.Release()
	require.Zero(t, pool.Outstanding())
}

func TestOutputOfAnotherLength(t *testing.T) {
	t.Parallel()
	pool := tensor.NewPool()
	r, _ := lengthRequest(pool, 1, 3, 1, 64)
	_, err := newLengthRunner(&echo{short: true}, lengthPlan(4), true, pool).Infer(t.Context(), r)
	require.EqualError(t, err, "output 'OUT' has shape [1,3,1], but dimension 0 must be 4, the length that the request was padded to")
	r.Release()
	require.Zero(t, pool.Outstanding())
}

// One row costs one copy, and nothing when it fits as it is.
func TestCopies(t *testing.T) {
	t.Parallel()
	for length, want := range map[int]int64{3: 3 * 4, 4: 0} {
		pool := tensor.NewPool()
		r, _ := lengthRequest(pool, 1, length, 1, 64)
		resp, err := newLengthRunner(&echo{}, lengthPlan(4), true, pool).Infer(t.Context(), r)
		require.NoError(t, err)
		copied, back := pool.Copied()
		require.Equal(t, want, copied)
		require.Zero(t, back)
		resp.Release()
		r.Release()
		require.Zero(t, pool.Outstanding())
	}
}

func TestTheNextObserver(t *testing.T) {
	t.Parallel()
	pool := tensor.NewPool()
	r, _ := lengthRequest(pool, 1, 3, 1, 64)
	var trimmed tensor.Shape
	r.Observer = infertest.ObserverFunc(func(_ *infer.Request, resp *infer.Response, _ bool) {
		trimmed = resp.Output("OUT").Shape.Clone()
	})
	resp, err := newLengthRunner(&echo{}, lengthPlan(4), true, pool).Infer(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, tensor.Shape{1, 3, 1}, trimmed)
	resp.Release()
	r.Release()
}

// A batch dimension of 0 counts as none: the bytes are those of one row.
func TestNoBatchDimension(t *testing.T) {
	t.Parallel()
	pool := tensor.NewPool()
	r, data := lengthRequest(pool, 1, 3000, 1, 1<<20)
	r.Batch, r.Inputs[0].Shape[0] = 0, 0
	e := &echo{}
	resp, err := newLengthRunner(e, lengthPlan(3001), true, pool).Infer(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, tensor.Shape{0, 3001, 1}, e.shape)
	require.Equal(t, []byte{7, 0, 0, 0}, e.ends)
	require.Equal(t, tensor.Shape{0, 3001}, e.mask)
	require.Equal(t, []byte{1, 1, 0}, e.masked[2998:])
	out := resp.Output("OUT")
	require.Equal(t, tensor.Shape{0, 3000, 1}, out.Shape)
	got := make([]byte, out.Data.Len())
	out.Data.CopyTo(got)
	require.Equal(t, data, got)
	resp.Release()
	r.Release()
	require.Zero(t, pool.Outstanding())
}
