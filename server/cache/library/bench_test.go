//go:build cgo && linux

package library_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/cache"
	"triton/server/cache/library"
	"triton/server/infer"
)

// original returns NVIDIA's local cache, or skips.
func original(t testing.TB) string {
	t.Helper()
	path, found := library.Find("../../../.oracle/tritonserver/caches", "local")
	if !found {
		t.Skip("NVIDIA's server is not installed; `make oracle` installs it")
	}
	path, err := filepath.EvalSymlinks(path)
	require.NoError(t, err)
	return path
}

func withOriginal(t testing.TB, size string) func(*library.Options) {
	return func(o *library.Options) {
		o.Name, o.Path, o.Settings = "local", original(t), map[string]string{"size": size}
	}
}

// TestOriginal: NVIDIA's local cache, unmodified, stores, finds and evicts, and its messages arrive.
func TestOriginal(t *testing.T) {
	t.Parallel()
	w := start(t, "", withOriginal(t, "8192"))
	require.Empty(t, w.lookup(1))
	require.NoError(t, w.insert(1, "one"))
	require.Equal(t, cache.ErrExists, w.insert(1, "one"))
	require.Equal(t, "one", w.lookup(1))
	require.NoError(t, w.insert(2, strings.Repeat("x", 5000)))
	require.NoError(t, w.insert(3, strings.Repeat("y", 5000)))
	require.Empty(t, w.lookup(2), "evicted")
	require.Len(t, w.lookup(3), 5000)
	require.EqualError(t, w.insert(4, strings.Repeat("z", 9000)), "Requested byte_size: 9044 is greater than total cache size: 8192")
	bad := open(t, "", withOriginal(t, "abc"))
	require.EqualError(t, bad.Check(t.Context()), "Failed to initialize LocalCache: stoull")
	require.NoError(t, bad.Close())
}

// BenchmarkHit is a hit of NVIDIA's local cache and of ours.
func BenchmarkHit(b *testing.B) {
	for _, n := range []int{100, 10_000, 1_000_000} {
		for _, name := range []string{"library", "own"} {
			b.Run(fmt.Sprintf("%d/%s", n, name), func(b *testing.B) {
				w := start(b, "", withOriginal(b, "16777216"))
				var c cache.Cache = w.Cache
				if name == "own" {
					own := cache.NewLocal(16<<20, w.pool)
					defer own.Close()
					c = own
				}
				r := w.response(strings.Repeat("x", n))
				require.NoError(b, c.Insert(cache.Key{1}, r))
				r.Release()
				b.ReportAllocs()
				for b.Loop() {
					into := infer.NewResponse()
					if !c.Lookup(context.Background(), cache.Key{1}, into) {
						b.Fatal("a miss")
					}
					into.Release()
				}
			})
		}
	}
}
