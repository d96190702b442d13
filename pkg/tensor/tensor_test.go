package tensor_test

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
)

func TestDataTypeNames(t *testing.T) {
	t.Parallel()
	for _, d := range tensor.DataTypes() {
		got, ok := tensor.ParseDataType(d.String())
		require.True(t, ok, d)
		require.Equal(t, d, got)
		require.NotEqual(t, "TYPE_INVALID", d.ConfigName())
	}
	require.Len(t, tensor.DataTypes(), 14)
	_, ok := tensor.ParseDataType("TYPE_FP32")
	require.False(t, ok)
}

func TestShapeArithmetic(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		shape tensor.Shape
		n     int64
		err   error
	}{
		{nil, 1, nil},
		{tensor.Shape{2, 3}, 6, nil},
		{tensor.Shape{0, math.MaxInt64, 4}, 0, nil},
		{tensor.Shape{math.MaxInt64, 2}, 0, tensor.ErrOverflow},
		{tensor.Shape{1 << 32, 1 << 32}, 0, tensor.ErrOverflow},
		{tensor.Shape{1 << 33, 1 << 33, 0}, 0, nil},
		{tensor.Shape{3, -1}, 0, tensor.ErrBadDim},
	} {
		n, err := c.shape.Elements()
		require.ErrorIs(t, err, c.err, c.shape)
		require.Equal(t, c.n, n, c.shape)
	}
	_, err := tensor.Shape{math.MaxInt64 / 4}.ByteSize(tensor.FP64)
	require.ErrorIs(t, err, tensor.ErrOverflow)
	require.True(t, tensor.Shape{4, 16}.Matches(tensor.Shape{-1, 16}))
	require.False(t, tensor.Shape{4, 15}.Matches(tensor.Shape{-1, 16}))
	require.Equal(t, "[2,-1]", tensor.Shape{2, -1}.String())
}

func TestPoolReusesAndCounts(t *testing.T) {
	t.Parallel()
	p := tensor.NewPool()
	for _, n := range []int{0, 1, 255, 256, 257, 4096, 1 << 20, 3 << 20, 65 << 20} {
		b := p.Get(n)
		require.Equal(t, n, b.Len())
		require.True(t, b.Stable())
		b.Retain().Release()
		require.EqualValues(t, 1, p.Outstanding())
		b.Release()
	}
	require.Zero(t, p.Outstanding())
	before := p.Bytes()
	for range 1000 {
		p.Get(3 << 20).Release()
	}
	require.Equal(t, before, p.Bytes(), "reuse must not map more")
}

func TestPoolAligns(t *testing.T) {
	t.Parallel()
	p := tensor.NewPool()
	for _, n := range []int{300, 4096, 1 << 20, 65 << 20} {
		for _, at := range []int{0, 1, 63, 64, 271} {
			b, err := p.TryGetAligned(n, at)
			require.NoError(t, err)
			require.Equal(t, n, b.Len())
			require.Zero(t, uintptr(unsafe.Pointer(&b.Bytes()[at]))%64, "byte %d of %d", at, n)
			b.Truncate(at)
			b.Release()
		}
	}
	require.Zero(t, p.Outstanding())
}

// TestZeroed looks for what an earlier user of the memory has left.
func TestZeroed(t *testing.T) {
	t.Parallel()
	p := tensor.NewPool()
	for _, n := range []int{0, 1, 200, 4000, 1 << 20} {
		for range 3 {
			b, err := p.TryGetZeroed(n)
			require.NoError(t, err)
			require.Len(t, b.Bytes(), n)
			require.Zero(t, bytes.Count(b.Bytes(), []byte{0xa5}), n)
			require.Equal(t, n, bytes.Count(b.Bytes(), []byte{0}), n)
			copy(b.Bytes(), bytes.Repeat([]byte{0xa5}, n))
			b.Release()
		}
	}
	require.Zero(t, p.Outstanding())
}

func TestPoolLimitsFreeMemory(t *testing.T) {
	t.Parallel()
	p := tensor.NewPool()
	var held []*tensor.Buffer
	for range 12 {
		held = append(held, p.Get(40<<20)) // 64 MiB each, never touched
	}
	for _, b := range held {
		b.Truncate(0)
		b.Release()
	}
	require.LessOrEqual(t, p.Bytes(), int64(256<<20))
	require.Zero(t, p.Outstanding())
}

// Trim returns whole mappings that are free. What is in use stays, and slabs.
func TestPoolTrims(t *testing.T) {
	t.Parallel()
	p := tensor.NewPool()
	used, small, large := p.Get(2<<20), p.Get(100), p.Get(3<<20)
	copy(used.Bytes(), "abc")
	small.Release()
	large.Release()
	before := p.Bytes()
	p.Trim()
	require.Equal(t, before-4<<20, p.Bytes())
	require.Equal(t, "abc", string(used.Bytes()[:3]))
	p.Trim()
	require.Equal(t, before-4<<20, p.Bytes())
	used.Release()
	p.Trim()
	require.EqualValues(t, 1<<20, p.Bytes(), "the slab")
	require.Zero(t, p.Outstanding())
	again := p.Get(3 << 20)
	again.Bytes()[0] = 1
	again.Release()
}

func TestPoolConcurrent(t *testing.T) {
	t.Parallel()
	p := tensor.NewPool()
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 500 {
				b := p.Get((g*977 + i*131) % 100000)
				for j := range b.Bytes() {
					b.Bytes()[j] = byte(g)
				}
				for _, x := range b.Bytes() {
					if x != byte(g) {
						t.Errorf("buffer shared between two owners")
						break
					}
				}
				b.Release()
			}
		})
	}
	wg.Wait()
	require.Zero(t, p.Outstanding())
}

func TestDataSegments(t *testing.T) {
	t.Parallel()
	p := tensor.NewPool()
	a, b := p.Get(4), p.Get(6)
	copy(a.Bytes(), "abcd")
	copy(b.Bytes(), "012345")
	var d tensor.Data
	d.Append(a, 1, 2)
	d.Append(b, 0, 0)
	require.True(t, d.Stable())
	d.Append(b, 3, 3)
	require.False(t, d.Stable())
	require.Equal(t, 5, d.Len())
	_, ok := d.Contiguous()
	require.False(t, ok)
	out := make([]byte, 5)
	require.Equal(t, 5, d.CopyTo(out))
	require.Equal(t, "bc345", string(out))
	c := d.Clone()
	d.Release()
	a.Release()
	b.Release()
	require.EqualValues(t, 2, p.Outstanding())
	c.Release()
	require.Zero(t, p.Outstanding())
}

func TestReleaseTooOftenPanics(t *testing.T) {
	t.Parallel()
	b := tensor.HeapBuffer(nil)
	b.Release()
	require.Panics(t, b.Release)
	require.Panics(t, func() { b.Retain() })
}

func TestBytesElements(t *testing.T) {
	t.Parallel()
	var data []byte
	want := []string{"", "a\x00b", "żółw"}
	for _, s := range want {
		data = tensor.AppendElementString(data, s)
	}
	var got []string
	for e, err := range tensor.Elements(data) {
		require.NoError(t, err)
		got = append(got, string(e))
	}
	require.Equal(t, want, got)
	for cut := 1; cut < len(data); cut++ {
		n, err := tensor.CountElements(data[:cut])
		if !errors.Is(err, tensor.ErrTruncated) && !slices.Contains([]int{4, 11}, cut) {
			t.Errorf("cut at %d: %d elements, %v", cut, n, err)
		}
	}
}

func FuzzBytesElements(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 'x', 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		var again []byte
		for e, err := range tensor.Elements(data) {
			if err != nil {
				return
			}
			again = tensor.AppendElement(again, e)
		}
		require.Equal(t, len(data), len(again))
	})
}

func BenchmarkPool(b *testing.B) {
	p := tensor.NewPool()
	b.ReportAllocs()
	for b.Loop() {
		p.Get(4096).Release()
	}
}

// TestTrimDiscardsSlabs: free pieces of slabs hold no memory after Trim, and can be used again.
func TestTrimDiscardsSlabs(t *testing.T) {
	t.Parallel()
	p := tensor.NewPool()
	var all []*tensor.Buffer
	for range 32 {
		b := p.Get(64 << 10)
		b.Bytes()[0] = 1
		all = append(all, b)
	}
	require.EqualValues(t, 2<<20, p.Resident())
	for _, b := range all[1:] {
		b.Release()
	}
	p.Trim()
	p.Trim()
	require.EqualValues(t, 64<<10, p.Resident(), "the piece in use")
	require.EqualValues(t, 2<<20, p.Bytes())
	b := p.Get(64 << 10)
	require.EqualValues(t, 128<<10, p.Resident())
	b.Release()
	all[0].Release()
	require.EqualValues(t, 128<<10, p.Resident())
}
