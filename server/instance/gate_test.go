package instance_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/backend/backendtest"
	"triton/server/infer"
	"triton/server/instance"
	"triton/server/scheduler"
)

// gate grants the slots that are sent to open, once each.
type gate struct {
	open    chan struct{}
	abort   chan struct{}
	weights []uint64
	notes
}

func newGate(grants int, weights ...uint64) *gate {
	g := &gate{open: make(chan struct{}, 100), abort: make(chan struct{}), weights: weights}
	for range grants {
		g.open <- struct{}{}
	}
	return g
}

func (g *gate) Acquire(slot int) bool {
	g.add(fmt.Sprintf("%d asks", slot))
	select {
	case <-g.open:
		return true
	case <-g.abort:
		return false
	}
}

func (g *gate) Release(slot int, ran bool) { g.add(fmt.Sprintf("%d gives back, %v", slot, ran)) }
func (g *gate) Weight(slot int) uint64     { return g.weights[slot] }
func (g *gate) Abort()                     { close(g.abort) }

func gated(g *gate) func(*instance.Options) {
	return queued(func(o *scheduler.Options) { o.Gate = g })
}

// Requests that arrive while a slot waits for its grant join its batch.
func TestABatchIsFormedAfterTheGrant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, limit := &backendtest.Model{Begin: time.Now()}, newGate(0, 0)
		g, _ := group(t, batching(8, 0), e, 1, gated(limit))
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { require.NoError(t, call(context.Background(), g, request("", 1))) })
			synctest.Wait()
		}
		time.Sleep(time.Second)
		limit.open <- struct{}{}
		all.Wait()
		synctest.Wait()
		require.Equal(t, []string{"1000: 3"}, e.Rows())
		require.Equal(t, []string{"0 asks", "0 gives back, true"}, limit.read())
	})
}

func TestAnUnusedGrantIsReleased(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, limit := &backendtest.Model{Begin: time.Now()}, newGate(0, 0)
		g, _ := group(t, batching(8, 0), e, 1, gated(limit))
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		require.Error(t, call(ctx, g, request("", 1)))
		limit.open <- struct{}{}
		synctest.Wait()
		require.Empty(t, e.Rows())
		require.Equal(t, []string{"0 asks", "0 gives back, false"}, limit.read())
		limit.open <- struct{}{}
		require.NoError(t, call(context.Background(), g, request("", 1)))
	})
}

// A slot with more work acquires instead of releasing.
func TestASlotWithMoreToDoAcquiresAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, limit := &backendtest.Model{Begin: time.Now(), Time: backendtest.Takes(time.Second)}, newGate(2, 0)
		g, _ := group(t, batching(1, 0), e, 1, gated(limit))
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() { require.NoError(t, call(context.Background(), g, request("", 1))) })
		}
		all.Wait()
		synctest.Wait()
		require.Equal(t, []string{"0: 1", "1000: 1"}, e.Rows())
		require.Equal(t, []string{"0 asks", "0 asks", "0 gives back, true"}, limit.read())
	})
}

// The idle slot of the lowest weight is used, also when a delay ends, and a second one only
// for the remaining requests.
func TestTheSlotWithTheLowestWeightIsUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, limit := &backendtest.Model{Begin: time.Now(), Time: backendtest.Takes(time.Second)}, newGate(0, 5, 1, 3)
		g, _ := group(t, batching(2, 100*time.Millisecond), e, 3, gated(limit))
		synctest.Wait()
		var all sync.WaitGroup
		one := func() {
			all.Go(func() { require.NoError(t, call(context.Background(), g, request("", 1))) })
			synctest.Wait()
		}
		one()
		time.Sleep(200 * time.Millisecond)
		require.Equal(t, []string{"1 asks"}, limit.read())
		one()
		require.Equal(t, []string{"1 asks"}, limit.read())
		one()
		one()
		require.Equal(t, []string{"1 asks", "2 asks"}, limit.read())
		limit.open <- struct{}{}
		limit.open <- struct{}{}
		all.Wait()
		require.Equal(t, []string{"200: 2", "200: 2"}, e.Rows())
	})
}

func TestADrainEndsTheWaitForTheGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, limit := &backendtest.Model{Begin: time.Now()}, newGate(0, 0, 0)
		g, _ := group(t, batching(8, 0), e, 2, gated(limit))
		var all sync.WaitGroup
		all.Go(func() {
			require.ErrorContains(t, call(context.Background(), g, request("", 1)), "Server is stopping")
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeoutCause(context.Background(), time.Second, errors.New("too long"))
		defer cancel()
		require.ErrorContains(t, g.Drain(ctx), "too long")
		all.Wait()
		require.NoError(t, g.Drain(context.Background()))
		require.Empty(t, e.Rows())
	})
}

// A semaphore of two grants between four instances.
type semaphore chan struct{}

func (s semaphore) Acquire(int) bool    { s <- struct{}{}; return true }
func (s semaphore) Release(int, bool)   { <-s }
func (s semaphore) Weight(n int) uint64 { return uint64(n) }
func (s semaphore) Abort()              {}

// again releases a used grant before it acquires the next, as gates do.
type again struct {
	semaphore
	mu   sync.Mutex
	runs map[int]bool
}

func (a *again) Acquire(n int) bool {
	a.Release(n, true)
	a.semaphore.Acquire(n)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.runs[n] = true
	return true
}

func (a *again) Release(n int, _ bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.runs[n] {
		a.runs[n] = false
		a.semaphore.Release(n, true)
	}
}

func TestNoMoreInstancesRunThanTheGateLets(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	running, most := 0, 0
	e := &backendtest.Model{Begin: time.Now(), Run: func(context.Context, *infer.Batch) error {
		mu.Lock()
		running++
		most = max(most, running)
		mu.Unlock()
		time.Sleep(50 * time.Microsecond) // of work
		mu.Lock()
		running--
		mu.Unlock()
		return nil
	}}
	limit := &again{semaphore: make(semaphore, 2), runs: map[int]bool{}}
	g, counters := group(t, batching(4, 0), e, 4, queued(func(o *scheduler.Options) { o.Gate = limit }))
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 50 {
				require.NoError(t, call(context.Background(), g, request("", 1)))
			}
		})
	}
	all.Wait()
	require.LessOrEqual(t, most, 2)
	require.EqualValues(t, 800, counters.Counters().Success.Count)
}
