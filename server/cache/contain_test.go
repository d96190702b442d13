package cache_test

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/cache"
	"triton/server/infer"
)

// wrecked is a runner that panics when the first request comes, after a time.
type wrecked struct {
	infer.Runner
	after time.Duration
	came  atomic.Bool
}

func (w *wrecked) Submit(r *infer.Request) error {
	if !w.came.Swap(true) {
		time.Sleep(w.after)
		panic("a fault of the runner")
	}
	return w.Runner.Submit(r)
}

// ended sends a request for a text and returns its result; a panic is an error.
func ended(ctx context.Context, c *cache.Runner) (answer string) {
	r := ask("a")
	defer r.Release()
	defer func() {
		if p := recover(); p != nil {
			r.Release() // as whoever contains the panic of a model
			answer = "panic: " + p.(string)
		}
	}()
	return result(c.Infer(ctx, r))
}

// TestAPanicOfTheLeader: a request that is lost to a panic of the runner behind
// keeps no other one waiting, neither equal ones nor those after it.
func TestAPanicOfTheLeader(t *testing.T) {
	t.Parallel()
	const contained = "error: internal error while the request was queued; the server's log has the details"
	for name, test := range map[string]struct {
		setup setup
		first string
	}{
		"single flight":           {setup{single: true}, contained},
		"in order":                {setup{ordered: true}, "panic: a fault of the runner"},
		"single flight, in order": {setup{single: true, ordered: true}, contained},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				test.setup.size, test.setup.instances = 1<<20, 1
				w := newWorld(t, test.setup)
				var log bytes.Buffer
				c := cache.New(&wrecked{Runner: w.Runner, after: time.Second}, cache.Options{
					Cache: &spy{}, Scope: "s", SingleFlight: test.setup.single, Ordered: test.setup.ordered,
					Pool: w.pool, Stats: w.stats, Log: slog.New(slog.NewTextHandler(&log, nil)),
				})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				var first string
				var all sync.WaitGroup
				all.Go(func() { first = ended(ctx, c) })
				synctest.Wait()
				require.Equal(t, "a", ended(ctx, c))
				all.Wait()
				require.Equal(t, test.first, first)
				require.Equal(t, "a", ended(ctx, c), "a later request")
				require.Equal(t, test.setup.single, log.Len() > 0)
			})
		})
	}
}
