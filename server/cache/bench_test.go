package cache_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
	"triton/server/cache"
	"triton/server/infer"
)

var sizes = []struct {
	name string
	n    int
}{{"64B", 64}, {"64KiB", 64 << 10}, {"1MiB", 1 << 20}}

// BenchmarkHit is a whole request that is in the cache: hash, lookup, answer.
func BenchmarkHit(b *testing.B) {
	for _, size := range sizes {
		b.Run(size.name, func(b *testing.B) {
			w := newWorld(b, setup{size: 1 << 30, instances: 1})
			text := strings.Repeat("x", size.n)
			w.infer(b.Context(), text)
			in := w.pool.Get(size.n)
			copy(in.Bytes(), text)
			b.SetBytes(int64(size.n))
			b.ReportAllocs()
			for b.Loop() {
				hit(b, w, in)
			}
			in.Release()
			require.EqualValues(b, 1, w.counts().executions)
		})
	}
}

// hit sends a request as frontends do: requests are reused.
func hit(t testing.TB, w *world, text *tensor.Buffer) {
	r := infer.NewRequest()
	in := r.AddInput()
	in.Name, in.DataType, in.Shape = "IN", tensor.Uint8, append(in.Shape[:0], int64(text.Len()))
	in.Data = tensor.SliceData(text, 0, text.Len())
	resp, err := w.Infer(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Release()
	r.Release()
}

// BenchmarkLocal is the lock: lookups by all cores.
func BenchmarkLocal(b *testing.B) {
	p := tensor.NewPool()
	l := cache.NewLocal(1<<20, p)
	for k := range byte(16) {
		insert(b, l, p, k, 1024)
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		r := infer.NewResponse()
		for k := byte(0); pb.Next(); k++ {
			if !l.Lookup(context.Background(), cache.Key{k % 16}, r) {
				b.Fail()
			}
			kserve.ReleaseTensors(r.Outputs)
			r.Outputs = r.Outputs[:0]
		}
		r.Release()
	})
	require.NoError(b, l.Close())
}
