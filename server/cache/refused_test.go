package cache_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/infer/infertest"
)

// TestRefused: a request that the model refuses neither stays in the order of responses nor
// blocks its followers.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, s := range []setup{{}, {single: true}, {ordered: true}, {single: true, ordered: true}} {
		s.size, s.instances = 1<<20, 1
		w := newWorld(t, s)
		require.Equal(t, "a", w.infer(t.Context(), "a"))
		require.NoError(t, w.Drain(context.Background()))
		for range 2 {
			require.Contains(t, w.infer(t.Context(), "b"), "Server is stopping")
			r := ask("b")
			sink := make(infertest.Responses, 1)
			r.Sink = sink
			require.ErrorContains(t, w.Submit(r), "Server is stopping")
			require.Empty(t, sink)
			r.Release()
			r.Release()
		}
		require.Equal(t, "a", w.infer(t.Context(), "a"), "what is kept needs no model")
		require.EqualValues(t, 1, w.counts().hits)
		require.Zero(t, w.counts().failed)
	}
}
