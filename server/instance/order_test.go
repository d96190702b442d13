package instance_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/backend/backendtest"
	"triton/server/infer"
	"triton/server/infer/infertest"
)

func ordered(max int32) *inferencepb.ModelConfig {
	return with(batching(max, 0), func(d *inferencepb.ModelDynamicBatching) { d.PreserveOrdering = true })
}

// byID is a backend for which the ID of the first request is the milliseconds of the batch. It
// fails if the ID ends with "!", and panics if it ends with "?".
func byID() *backendtest.Model {
	return &backendtest.Model{Begin: time.Now(), Run: func(_ context.Context, b *infer.Batch) error {
		id := b.Requests[0].ID
		last := id[len(id)-1]
		if last == '!' || last == '?' {
			id = id[:len(id)-1]
		}
		ms, err := strconv.Atoi(id)
		if err != nil {
			return err
		}
		time.Sleep(time.Duration(ms) * time.Millisecond)
		switch last {
		case '!':
			return errors.New("failed")
		case '?':
			panic("broken")
		}
		return nil
	}}
}

// noting returns a sink that adds the responses to a request and their times to notes.
func noting(n *notes, begin time.Time, id string) *infertest.Sink {
	s := infertest.NewSink()
	s.After = func(e infertest.Event) {
		what := id
		switch {
		case e.Err != nil:
			what += " failed"
		case e.Empty:
			what += " end"
		}
		n.add(fmt.Sprintf("%d: %s", e.At.Sub(begin).Milliseconds(), what))
	}
	return s
}

// The answers of all instances leave in the order of the requests, as soon as
// that allows.
func TestPreservedOrder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		max       int32
		instances int
		ids       []string // 1 ms apart
		cancel    map[int]int
		want      []string
	}{
		"a slow first request": {1, 2, []string{"1000", "10", "20", "30"}, nil, []string{"1000: 1000", "1000: 10", "1000: 20", "1000: 30"}},
		"what is early enough": {1, 2, []string{"10", "1000", "20"}, nil, []string{"10: 10", "1001: 1000", "1001: 20"}},
		"failures":             {1, 3, []string{"100!", "10", "50!", "20?"}, nil, []string{"100: 100! failed", "100: 10", "100: 50! failed", "100: 20? failed"}},
		"a batch":              {8, 1, []string{"100", "7", "8", "9"}, nil, []string{"100: 100", "107: 7", "107: 8", "107: 9"}},
		"a request that leaves the queue blocks none": {
			1, 1,
			[]string{"100", "10", "20"},
			map[int]int{1: 50},
			[]string{"50: 10 failed", "100: 100", "120: 20"},
		},
		"one that is cancelled while it runs keeps its place": {
			1, 2,
			[]string{"100", "10", "20"},
			map[int]int{0: 50},
			[]string{"100: 100", "100: 10", "100: 20"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := byID()
				g, counters := group(t, ordered(c.max), e, c.instances)
				var got notes
				var all sync.WaitGroup
				for i, id := range c.ids {
					synctest.Wait()
					time.Sleep(time.Duration(i)*time.Millisecond - time.Since(e.Begin))
					synctest.Wait()
					r, s := request(id, 1), noting(&got, e.Begin, id)
					r.Sink = s
					require.NoError(t, g.Submit(r))
					if at := c.cancel[i]; at != 0 {
						all.Go(func() { time.Sleep(time.Duration(at-i) * time.Millisecond); r.Cancel() })
					}
					all.Go(func() { <-s.Done(); r.Release() })
				}
				all.Wait()
				require.Equal(t, c.want, got.read())
				require.Zero(t, counters.Pending.Load())
			})
		})
	}
}

// A caller that cancels may be the last to hold its request, whose response keeps its position
// in the order.
func TestPreservedOrderOfCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := byID()
		g, _ := group(t, ordered(1), e, 2)
		synctest.Wait()
		var all sync.WaitGroup
		all.Go(func() { require.NoError(t, call(context.Background(), g, request("1000", 1))) })
		synctest.Wait()
		all.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
			defer cancel()
			require.Error(t, call(ctx, g, request("10", 1)))
			require.EqualValues(t, 100, time.Since(e.Begin).Milliseconds())
		})
		synctest.Wait()
		all.Go(func() {
			require.NoError(t, call(context.Background(), g, request("20", 1)))
			require.EqualValues(t, 1000, time.Since(e.Begin).Milliseconds())
		})
		all.Wait()
	})
}

// All responses of a request come before those of the next.
func TestPreservedOrderOfStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var running sync.WaitGroup
		e := &backendtest.Model{Begin: time.Now(), Own: true, Run: func(_ context.Context, b *infer.Batch) error {
			for _, r := range b.Requests {
				running.Go(func() {
					step := 10 * time.Millisecond
					if r.ID == "slow" {
						step = 100 * time.Millisecond
					}
					for range 2 {
						time.Sleep(step)
						r.Respond(infer.NewResponse(), false)
					}
					r.Respond(nil, true)
				})
			}
			return nil
		}}
		g, _ := group(t, decoupled(ordered(1)), e, 1)
		var got notes
		var all sync.WaitGroup
		for _, id := range []string{"slow", "fast"} {
			r, s := request(id, 1), noting(&got, e.Begin, id)
			r.Sink = s
			require.NoError(t, g.Submit(r))
			all.Go(func() { <-s.Done(); r.Release() })
		}
		all.Wait()
		running.Wait()
		require.Equal(t, []string{
			"100: slow", "200: slow", "200: slow end",
			"200: fast", "200: fast", "200: fast end",
		}, got.read())
	})
}

// Responses are sent in order for any execution times and cancellations.
func TestPreservedOrderUnderLoad(t *testing.T) {
	t.Parallel()
	e := &backendtest.Model{Begin: time.Now(), Run: func(context.Context, *infer.Batch) error {
		time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond) // of work
		return nil
	}}
	g, _ := group(t, ordered(4), e, 3)
	var mu sync.Mutex
	var all sync.WaitGroup
	latest := -1
	for i := range 500 {
		r := request("", 1)
		all.Add(1)
		r.Sink = infertest.SinkFunc(func(resp *infer.Response, _ bool) {
			mu.Lock()
			defer mu.Unlock()
			if resp.Err == nil {
				require.Less(t, latest, i)
				latest = i
			}
			resp.Release()
			all.Done()
		})
		require.NoError(t, g.Submit(r))
		if i%7 == 0 {
			r.Cancel()
		}
		r.Release()
	}
	all.Wait()
}
