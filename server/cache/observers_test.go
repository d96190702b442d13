package cache_test

import (
	"context"
	"encoding/hex"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/cache"
	"triton/server/infer"
)

// spy is a cache that keeps nothing but the last key.
type spy struct {
	key  string
	fail error
}

func (s *spy) Lookup(_ context.Context, k cache.Key, _ *infer.Response) bool {
	s.key = hex.EncodeToString(k[:])
	return false
}
func (s *spy) Insert(cache.Key, *infer.Response) error { return s.fail }
func (s *spy) Close() error                            { return nil }

// newRunner returns the world's model behind another cache.
func newRunner(w *world, c cache.Cache) *cache.Runner {
	return cache.New(w.Runner, cache.Options{Cache: c, Scope: "s", Pool: w.pool, Stats: w.stats, Log: slog.New(slog.NewTextHandler(&w.log, nil))})
}

// TestObservers: a cache in front of another, as of an ensemble, stores the same response. A
// failed insertion is a miss, which is logged.
func TestObservers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{size: 1 << 20, instances: 1})
	c := newRunner(w, &spy{fail: errors.New("no room")})
	for range 2 {
		r := ask("x")
		require.Equal(t, "x", result(c.Infer(t.Context(), r)))
		r.Release()
	}
	require.Contains(t, w.log.String(), "into response cache: no room")
	require.Equal(t, counts{executions: 1, success: 2, computed: 1, hits: 1, misses: 3}, w.counts())
}

// TestInvalidScope: while the scope is not valid, responses are sent but not stored, and stored
// responses are not used.
func TestInvalidScope(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{size: 1 << 20, instances: 1})
	local := cache.NewLocal(1<<20, w.pool)
	defer func() { require.NoError(t, local.Close()) }()
	steady := false
	c := cache.New(w.Runner, cache.Options{
		Cache: local, Scope: "s", Pool: w.pool, Stats: w.stats, Log: slog.New(slog.DiscardHandler), ScopeValid: func() bool { return steady },
	})
	for _, now := range []struct {
		steady        bool
		entries, hits int64
	}{{false, 0, 0}, {false, 0, 0}, {true, 1, 0}, {true, 1, 1}, {false, 1, 1}, {true, 1, 2}} {
		steady = now.steady
		r := ask("x")
		require.Equal(t, "x", result(c.Infer(t.Context(), r)))
		r.Release()
		require.Equal(t, now.entries, local.Counts().Entries)
		require.EqualValues(t, now.hits, local.Counts().Hits)
	}
}
