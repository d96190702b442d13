package cache_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/infer/infertest"
)

// TestStress: with concurrent requests, cancellations and evictions, every answer equals its
// request or is a cancellation, and all memory is released.
func TestStress(t *testing.T) {
	t.Parallel()
	for n := range 4 {
		single, ordered := n&1 != 0, n&2 != 0
		t.Run(fmt.Sprintf("single %v ordered %v", single, ordered), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, setup{size: 20 << 10, instances: 2, single: single, ordered: ordered, exec: 20 * time.Microsecond})
			var all sync.WaitGroup
			for n := range 8 {
				all.Go(func() {
					random := rand.New(rand.NewPCG(1, uint64(n)))
					for range 300 {
						text := strings.Repeat(strconv.Itoa(random.IntN(12)), 1+random.IntN(2)*1500)
						switch random.IntN(3) {
						case 0:
							submit(t, w, text, random.IntN(4) == 0)
						case 1:
							ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(100))*time.Microsecond)
							check(t, text, w.infer(ctx, text))
							cancel()
						default:
							if got := w.infer(t.Context(), text); got != text { // also when its leader has left
								t.Errorf("sent %.10q, got %.20q", text, got)
							}
						}
					}
				})
			}
			all.Wait()
			require.Positive(t, w.counts().hits)
			require.Positive(t, w.local.Counts().Evictions)
		})
	}
}

func submit(t *testing.T, w *world, text string, cancel bool) {
	r := ask(text)
	defer r.Release()
	sink := make(infertest.Responses, 1)
	r.Sink = sink
	if err := w.Submit(r); err != nil {
		t.Error(err)
		r.Release()
		return
	}
	if cancel {
		r.Cancel()
	}
	resp := <-sink
	check(t, text, result(resp, resp.Err))
}

func check(t *testing.T, text, got string) {
	t.Helper()
	if got != text && got != "error: " && got != "error: context deadline exceeded" && got != "error: no caller waits" {
		t.Errorf("sent %.10q, got %.40q", text, got)
	}
}

// TestDrain: requests that wait for a leader when the model is unloaded are answered.
func TestDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{size: 1 << 20, instances: 1, single: true, exec: time.Hour})
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				got := w.infer(context.Background(), "a")
				if got != "a" && !strings.Contains(got, "Server is stopping") {
					t.Errorf("got %q", got)
				}
			})
		}
		synctest.Wait()
		require.EqualValues(t, 3, w.stats.Pending.Load())
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.Error(t, w.Drain(ctx))
		require.EqualValues(t, 3, w.counts().failed)
		all.Wait()
	})
}
