package cache_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/cache"
	"triton/server/infer"
)

// response returns one output of n bytes of the pool, all of them c.
func response(p *tensor.Pool, n int, c byte) *infer.Response {
	b := p.Get(n)
	for i := range b.Bytes() {
		b.Bytes()[i] = c
	}
	r := infer.NewResponse()
	r.Add("OUT", tensor.Uint8, tensor.Shape{int64(n)}, tensor.NewData(b))
	return r
}

func insert(t testing.TB, l *cache.Local, p *tensor.Pool, k byte, n int) {
	t.Helper()
	r := response(p, n, k)
	require.NoError(t, l.Insert(cache.Key{k}, r))
	r.Release()
}

func has(l *cache.Local, k byte) bool {
	r := infer.NewResponse()
	defer r.Release()
	return l.Lookup(context.Background(), cache.Key{k}, r)
}

func TestLeastRecentlyUsedGoesFirst(t *testing.T) {
	t.Parallel()
	p := tensor.NewPool()
	l := cache.NewLocal(5*4096, p) // four of 4096 and what they need beside
	for k := byte(1); k <= 4; k++ {
		insert(t, l, p, k, 4096)
	}
	require.EqualValues(t, 4, l.Counts().Entries)
	require.True(t, has(l, 1))
	insert(t, l, p, 5, 4096)
	require.False(t, has(l, 2))
	require.True(t, has(l, 1) && has(l, 3) && has(l, 4) && has(l, 5))
	insert(t, l, p, 6, 2*4096) // takes two places
	require.False(t, has(l, 1) || has(l, 3))
	require.True(t, has(l, 4) && has(l, 5) && has(l, 6))
	c := l.Counts()
	require.EqualValues(t, 3, c.Evictions)
	require.EqualValues(t, 3, c.Entries)
	require.LessOrEqual(t, c.Bytes, c.Size)
	require.EqualValues(t, 3, c.Misses)
	require.NoError(t, l.Close())
	require.Zero(t, l.Counts().Bytes)
	require.Zero(t, p.Outstanding())
	r := response(p, 10, 1)
	require.ErrorContains(t, l.Insert(cache.Key{1}, r), "closed")
	r.Release()
	require.Zero(t, p.Outstanding())
}

func TestTooLargeAndTwice(t *testing.T) {
	t.Parallel()
	p := tensor.NewPool()
	l := cache.NewLocal(8192, p)
	r := response(p, 400004, 1)
	err := l.Insert(cache.Key{1}, r)
	require.Regexp(t, `^Requested byte_size: 4\d{5} is greater than total cache size: 8192$`, err.Error())
	require.Equal(t, status.Internal, status.CodeOf(err))
	r.Release()
	r = response(p, 10, 1)
	require.NoError(t, l.Insert(cache.Key{1}, r))
	require.ErrorIs(t, l.Insert(cache.Key{1}, r), cache.ErrExists)
	r.Release()
	require.NoError(t, l.Close())
	require.Zero(t, p.Outstanding())
}

// TestPinned: a hit shares the stored memory. Data that fills most of its buffer is shared; a row
// of a larger batch, memory outside the pool and data in several segments are copied. The size of
// the cache includes all buffers.
func TestPinned(t *testing.T) {
	t.Parallel()
	p := tensor.NewPool()
	batch := p.Get(8 << 10)
	defer batch.Release()
	whole := p.Get(5 << 10) // of a class of 8 KiB
	defer whole.Release()
	heap := tensor.HeapBuffer(make([]byte, 1<<10))
	var two tensor.Data
	two.Append(batch, 0, 4<<10)
	two.Append(batch, 4<<10, 4<<10)
	for name, test := range map[string]struct {
		data  tensor.Data
		kept  *tensor.Buffer // nil: a copy
		bytes int64
	}{
		"whole":  {tensor.SliceData(whole, 0, 5<<10), whole, 8 << 10},
		"half":   {tensor.SliceData(batch, 4<<10, 4<<10), batch, 8 << 10},
		"row":    {tensor.SliceData(batch, 1<<10, 1<<10), nil, 1 << 10},
		"heap":   {tensor.NewData(heap), nil, 1 << 10},
		"pieces": {two, nil, 8 << 10},
		"empty":  {tensor.Data{}, nil, 0},
	} {
		l := cache.NewLocal(1<<20, p)
		r := infer.NewResponse()
		n := test.data.Len()
		r.Add("OUT", tensor.Uint8, tensor.Shape{int64(n)}, test.data)
		require.NoError(t, l.Insert(cache.Key{}, r))
		r.Release()
		require.InDelta(t, test.bytes+300, l.Counts().Bytes, 200, name)
		got := infer.NewResponse()
		require.True(t, l.Lookup(t.Context(), cache.Key{}, got))
		require.NoError(t, l.Close()) // what was lent stays
		require.Equal(t, n, got.Outputs[0].Data.Len())
		require.LessOrEqual(t, got.Outputs[0].Data.Segments(), 1)
		if n > 0 {
			require.Equal(t, test.kept != nil, got.Outputs[0].Data.Segment(0).Buffer == test.kept, name)
			require.NotSame(t, heap, got.Outputs[0].Data.Segment(0).Buffer)
		}
		got.Release()
	}
	require.EqualValues(t, 2, p.Outstanding())
}

// region is memory of a client.
type region struct{}

func (region) Free(*tensor.Buffer) {}
func (region) Foreign()            {}
func (region) Lost() error         { return nil }

// TestClientMemory: a client that changes its memory later changes neither the hashed bytes nor the
// stored response.
func TestClientMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{size: 1 << 20, instances: 1})
	mem := []byte("abcd")
	buf := tensor.NewBuffer(mem, true, region{})
	r := ask("")
	r.Inputs[0].Shape, r.Inputs[0].Data = tensor.Shape{4}, tensor.SliceData(buf, 0, 4)
	require.Equal(t, "abcd", result(w.Infer(t.Context(), r)))
	r.Release()
	copy(mem, "XXXX")
	require.Equal(t, "abcd", w.infer(t.Context(), "abcd"))
	require.EqualValues(t, 1, w.counts().hits)

	// A hit is written to the client's region.
	r = ask("abcd")
	r.Outputs = nil
	r.Outputs = append(r.Outputs, kserve.RequestedOutput{Name: "OUT"})
	require.Equal(t, "abcd", result(w.Infer(t.Context(), r)))
	r.Release()
	r = ask("abcd")
	r.Outputs = append(r.Outputs, kserve.RequestedOutput{Name: "OUT", Into: tensor.Segment{Buffer: buf.Retain(), N: 4}})
	resp, err := w.Infer(t.Context(), r)
	require.NoError(t, err)
	require.True(t, r.Outputs[0].Placed)
	require.Equal(t, "abcd", string(mem))
	resp.Release()
	r.Release()
	require.EqualValues(t, 2, w.counts().hits)

	// Where it has no place the hit fails, and is counted so.
	r = ask("abcd")
	r.Outputs = append(r.Outputs, kserve.RequestedOutput{Name: "OUT", Into: tensor.Segment{Buffer: buf.Retain(), N: 3}})
	require.Contains(t, result(w.Infer(t.Context(), r)), "should be at least 4 bytes to hold the results")
	r.Release()
	require.EqualValues(t, 1, w.counts().failed)
	require.EqualValues(t, 2, w.counts().hits)
	buf.Release()
}
