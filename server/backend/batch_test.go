package backend

import (
	"context"
	"fmt"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/invariant"
	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
)

func signature(batching bool, v ...Value) *Signature {
	return &Signature{Batching: batching, Inputs: v, Outputs: v}
}

// request has one input of this data, in pieces of this size (0: one piece).
func request(pool *tensor.Pool, rows int, v Value, shape tensor.Shape, data []byte, piece int) *infer.Request {
	r := infer.NewRequest()
	r.Unary()
	r.Batch = rows
	in := r.AddInput()
	in.Name, in.DataType = v.Name, v.DataType
	in.Shape = append(in.Shape[:0], shape...)
	if piece == 0 {
		piece = max(len(data), 1)
	}
	for at := 0; at < len(data); at += piece {
		n := min(piece, len(data)-at)
		buf := pool.Get(n)
		copy(buf.Bytes(), data[at:])
		in.Data.Append(buf, 0, n)
		buf.Release()
	}
	return r
}

func batchOf(rs ...*infer.Request) *infer.Batch {
	b := &infer.Batch{}
	for _, r := range rs {
		b.Add(r)
	}
	return b
}

func release(rs ...*infer.Request) {
	for _, r := range rs {
		r.Release()
		r.Release()
	}
}

func sequence(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

func TestGather(t *testing.T) {
	t.Parallel()
	v := Value{Name: "x", DataType: tensor.Int32, Dims: tensor.Shape{-1}}
	for _, c := range []struct {
		name   string
		rows   []int
		piece  int
		passed bool
	}{
		{"one request in one piece", []int{2}, 0, true},
		{"one request in pieces", []int{2}, 5, false},
		{"several requests", []int{1, 3, 2}, 0, false},
		{"several requests in pieces", []int{1, 3, 2}, 3, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			pool := tensor.NewPool()
			g := NewGather(signature(true, v), pool)
			var rs []*infer.Request
			var want []byte
			total := 0
			for _, rows := range c.rows {
				data := sequence(rows * 12)
				rs = append(rs, request(pool, rows, v, tensor.Shape{int64(rows), 3}, data, c.piece))
				want = append(want, data...)
				total += rows
			}
			require.NoError(t, g.Collect(batchOf(rs...)))
			require.True(t, g.Inputs[0].Present)
			require.Equal(t, tensor.Shape{int64(total), 3}, g.Inputs[0].Shape)
			require.Equal(t, want, g.Inputs[0].Bytes)
			own, _ := rs[0].Inputs[0].Data.Contiguous()
			require.Equal(t, c.passed, own != nil && &own[0] == &g.Inputs[0].Bytes[0])
			g.Release()
			release(rs...)
			require.Zero(t, pool.Outstanding())
		})
	}
}

// Data at an address that is not aligned for C code is copied to one that is.
func TestGatherCopiesWhatCannotBePassed(t *testing.T) {
	t.Parallel()
	v := Value{Name: "x", DataType: tensor.FP64, Dims: tensor.Shape{2}}
	pool := tensor.NewPool()
	data := sequence(17)
	for name, buf := range map[string]*tensor.Buffer{
		"heap": tensor.HeapBuffer(append([]byte(nil), data...)), "odd address": pool.Get(17),
	} {
		copy(buf.Bytes(), data)
		r := request(pool, 1, v, tensor.Shape{1, 2}, nil, 0)
		r.Inputs[0].Data.Append(buf, 1, 16)
		buf.Release()
		g := NewGather(signature(true, v), pool)
		require.NoError(t, g.Collect(batchOf(r)), name)
		require.Equal(t, data[1:], g.Inputs[0].Bytes)
		require.Zero(t, uintptr(unsafe.Pointer(&g.Inputs[0].Bytes[0]))%align)
		g.Release()
		release(r)
	}
	require.Zero(t, pool.Outstanding())
}

func TestGatherFaults(t *testing.T) {
	t.Parallel()
	pool := tensor.NewPool()
	v := Value{Name: "x", DataType: tensor.Int32, Dims: tensor.Shape{-1}}
	opt := v
	opt.Optional = true
	row := func(shape tensor.Shape, n int) *infer.Request { return request(pool, 1, v, shape, sequence(n), 0) }
	other := func() *infer.Request {
		r := row(tensor.Shape{1, 2}, 8)
		r.Inputs[0].Name = "y"
		r.ID = "7"
		return r
	}
	for _, c := range []struct {
		v    Value
		rs   []*infer.Request
		want string
	}{
		{v, []*infer.Request{row(tensor.Shape{1, 2}, 7)}, "unexpected total byte size 7 for input 'x', expecting 8"},
		{v, []*infer.Request{row(tensor.Shape{1, 2}, 8), row(tensor.Shape{1, 2}, 12)}, "unexpected total byte size 20 for input 'x', expecting 16"},
		{v, []*infer.Request{row(tensor.Shape{1, 2}, 8), row(tensor.Shape{1, 3}, 12)}, "unexpected shape [1,3] for input 'x' in a batch with shape [1,2]"},
		{v, []*infer.Request{other()}, "[request id: 7] input 'x' is missing"},
		{opt, []*infer.Request{row(tensor.Shape{1, 2}, 8), other()}, "optional input 'x' is in some requests of the batch and not in others"},
		{v, []*infer.Request{row(tensor.Shape{1, 1 << 62}, 8)}, "shape [1,4611686018427387904] of input 'x': element count exceeds 9223372036854775807"},
	} {
		g := NewGather(signature(true, c.v), pool)
		err := g.Collect(batchOf(c.rs...))
		require.EqualError(t, err, c.want)
		require.Equal(t, status.InvalidArg, status.CodeOf(err))
		g.Release()
		release(c.rs...)
	}
	require.Zero(t, pool.Outstanding())
}

func TestGatherOptionalAbsent(t *testing.T) {
	t.Parallel()
	pool := tensor.NewPool()
	v := Value{Name: "x", DataType: tensor.Int32, Dims: tensor.Shape{2}}
	bias := Value{Name: "bias", DataType: tensor.Int32, Dims: tensor.Shape{1}, Optional: true}
	g := NewGather(signature(false, bias, v), pool)
	r := request(pool, 0, v, tensor.Shape{2}, sequence(8), 0)
	require.NoError(t, g.Collect(batchOf(r)))
	require.False(t, g.Inputs[0].Present)
	require.Equal(t, sequence(8), g.Inputs[1].Bytes)
	g.Release()
	release(r)
	require.Zero(t, pool.Outstanding())
}

// answers scatters one output to these requests and returns what each gets.
func answers(t *testing.T, sig *Signature, rs []*infer.Request, shape tensor.Shape, buf *tensor.Buffer) ([]*infer.Response, []error) {
	t.Helper()
	s := NewScatter(sig)
	s.Start(batchOf(rs...))
	s.Output(0, shape, buf, 0, buf.Len())
	s.Send()
	var out []*infer.Response
	var errs []error
	for _, r := range rs {
		resp, err := r.Wait(context.Background())
		out, errs = append(out, resp), append(errs, err)
	}
	return out, errs
}

func TestScatterRows(t *testing.T) {
	t.Parallel()
	numbers := sequence(6 * 4)
	var strings []byte
	for k := range 6 {
		strings = tensor.AppendElementString(strings, "aaaaa"[:k%5])
	}
	for _, c := range []struct {
		d    tensor.DataType
		data []byte
		ends [3]int
	}{
		{tensor.Int32, numbers, [3]int{4, 16, 24}},
		{tensor.Bytes, strings, [3]int{4, 4*4 + 1 + 2 + 3, len(strings)}},
	} {
		v := Value{Name: "y", DataType: c.d, Dims: tensor.Shape{1}}
		pool := tensor.NewPool()
		var rs []*infer.Request
		for _, rows := range []int{1, 3, 2} {
			rs = append(rs, request(pool, rows, v, nil, nil, 0))
		}
		buf := pool.Get(len(c.data))
		copy(buf.Bytes(), c.data)
		out, errs := answers(t, signature(true, v), rs, tensor.Shape{6, 1}, buf)
		buf.Release()
		from := 0
		for k, resp := range out {
			require.NoError(t, errs[k])
			got, _ := resp.Outputs[0].Data.Contiguous()
			require.Equal(t, c.data[from:c.ends[k]], got)
			require.Equal(t, tensor.Shape{int64(rs[k].Batch), 1}, resp.Outputs[0].Shape)
			from = c.ends[k]
		}
		require.EqualValues(t, 1, pool.Outstanding(), "the responses share the buffer")
		for _, resp := range out {
			resp.Release()
		}
		release(rs...)
		require.Zero(t, pool.Outstanding())
	}
}

func TestScatterFaults(t *testing.T) {
	t.Parallel()
	v := Value{Name: "y", DataType: tensor.Bytes, Dims: tensor.Shape{1}}
	pool := tensor.NewPool()
	rs := []*infer.Request{request(pool, 1, v, nil, nil, 0), request(pool, 1, v, nil, nil, 0), request(pool, 2, v, nil, nil, 0)}
	rs[2].ID = "q"
	data := tensor.AppendElementString(nil, "fine")
	buf := pool.Get(len(data) + 5)
	copy(buf.Bytes(), data)
	copy(buf.Bytes()[len(data):], []byte{9, 0, 0, 0, 'x'})
	out, errs := answers(t, signature(true, v), rs, tensor.Shape{3, 1}, buf)
	buf.Release()
	require.NoError(t, errs[0])
	out[0].Release()
	require.EqualError(t, errs[1], "[request id: <id_unknown>] output tensor 'y': BYTES tensor is cut off")
	require.EqualError(t, errs[2], "[request id: q] failed to split the output tensor 'y' in responses: expected batch size of at least 4 in model output, got 3")
	require.Equal(t, status.Unsupported, status.CodeOf(errs[2]))
	release(rs...)
	require.Zero(t, pool.Outstanding())
}

func TestScatterWithoutBatching(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v     Value
		shape tensor.Shape
		want  tensor.Shape
	}{
		{Value{Name: "y", DataType: tensor.Int32, Dims: tensor.Shape{-1}}, tensor.Shape{2}, tensor.Shape{2}},
		{Value{Name: "y", DataType: tensor.Int32, Dims: tensor.Shape{1}}, tensor.Shape{}, tensor.Shape{1}},
		{Value{Name: "y", DataType: tensor.Int32, Dims: tensor.Shape{1, 2}, Reshape: tensor.Shape{2}}, tensor.Shape{2}, tensor.Shape{1, 2}},
	} {
		pool := tensor.NewPool()
		r := request(pool, 0, c.v, nil, nil, 0)
		buf := pool.Get(8)
		out, errs := answers(t, signature(false, c.v), []*infer.Request{r}, c.shape, buf)
		buf.Release()
		require.NoError(t, errs[0])
		require.Equal(t, c.want, out[0].Outputs[0].Shape)
		out[0].Release()
		release(r)
		require.Zero(t, pool.Outstanding())
	}
}

func TestScatterOnlyWanted(t *testing.T) {
	t.Parallel()
	v := Value{Name: "y", DataType: tensor.Int32, Dims: tensor.Shape{1}}
	pool := tensor.NewPool()
	r := request(pool, 1, v, nil, nil, 0)
	r.Outputs = append(r.Outputs, kserve.RequestedOutput{Name: "z"})
	buf := pool.Get(4)
	out, errs := answers(t, signature(true, v), []*infer.Request{r}, tensor.Shape{1, 1}, buf)
	buf.Release()
	require.NoError(t, errs[0])
	require.Empty(t, out[0].Outputs)
	out[0].Release()
	release(r)
}

func TestScatterDrop(t *testing.T) {
	t.Parallel()
	v := Value{Name: "y", DataType: tensor.Int32, Dims: tensor.Shape{1}}
	pool := tensor.NewPool()
	r := request(pool, 1, v, nil, nil, 0)
	buf := pool.Get(4)
	s := NewScatter(signature(true, v))
	s.Start(batchOf(r))
	s.Output(0, tensor.Shape{1, 1}, buf, 0, 4)
	buf.Release()
	s.Drop()
	require.Zero(t, pool.Outstanding())
	require.NotEqual(t, infer.Answered, r.State())
	release(r)
}

func TestSignature(t *testing.T) {
	t.Parallel()
	s := NewSignature(&inferencepb.ModelConfig{
		MaxBatchSize: 4,
		Input:        []*inferencepb.ModelInput{{Name: "a", DataType: inferencepb.DataType_TYPE_STRING, Dims: []int64{2}, Optional: true}},
		Output: []*inferencepb.ModelOutput{{
			Name: "b", DataType: inferencepb.DataType_TYPE_BF16, Dims: []int64{1},
			Reshape: &inferencepb.ModelTensorReshape{},
		}},
	})
	require.True(t, s.Batching)
	require.Equal(t, []Value{{Name: "a", DataType: tensor.Bytes, Dims: tensor.Shape{2}, Optional: true}}, s.Inputs)
	require.Equal(t, []Value{{Name: "b", DataType: tensor.BF16, Dims: tensor.Shape{1}, Reshape: tensor.Shape{}}}, s.Outputs)
	require.Equal(t, tensor.Shape{}, s.Outputs[0].BackendShape())
}

// cycle is one whole batch without a backend.
type cycle struct {
	g *Gather
	s *Scatter
	b *infer.Batch
	p *tensor.Pool
}

func newCycle(requests, size int) *cycle {
	v := Value{Name: "x", DataType: tensor.FP32, Dims: tensor.Shape{-1}}
	c := &cycle{p: tensor.NewPool(), b: &infer.Batch{}}
	sig := signature(true, v)
	c.g, c.s = NewGather(sig, c.p), NewScatter(sig)
	for range requests {
		c.b.Add(request(c.p, 1, v, tensor.Shape{1, int64(size / 4)}, sequence(size), 0))
	}
	return c
}

func (c *cycle) run() error {
	for _, r := range c.b.Requests {
		r.Move(infer.Answered, infer.Executing)
	}
	if err := c.g.Collect(c.b); err != nil {
		return err
	}
	in := &c.g.Inputs[0]
	out := c.p.Get(len(in.Bytes))
	c.s.Start(c.b)
	c.s.Output(0, in.Shape, out, 0, out.Len())
	out.Release()
	c.g.Release()
	c.s.Send()
	for _, r := range c.b.Requests {
		resp, err := r.Wait(context.Background())
		if err != nil {
			return err
		}
		resp.Release()
	}
	return nil
}

func TestCycleAllocatesNothing(t *testing.T) {
	if invariant.Enabled {
		t.Skip("not with the race detector, under which pools drop what they are given")
	}
	for _, n := range []int{1, 8} {
		c := newCycle(n, 64)
		require.NoError(t, c.run())
		require.LessOrEqual(t, testing.AllocsPerRun(100, func() { _ = c.run() }), 0.1)
	}
}

func BenchmarkGatherScatter(b *testing.B) {
	for _, requests := range []int{1, 8, 32} {
		for _, size := range []int{64, 602112} {
			b.Run(fmt.Sprintf("requests=%d/bytes=%d", requests, size), func(b *testing.B) {
				c := newCycle(requests, size)
				b.ReportAllocs()
				b.SetBytes(int64(requests * size))
				for b.Loop() {
					if err := c.run(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
