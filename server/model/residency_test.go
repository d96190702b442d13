package model

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func idleVersion() *LoadedVersion {
	v := &LoadedVersion{drained: make(chan struct{}), running: newRunning(nil)}
	v.refs.Store(1)
	return v
}

// TestRetireIdle: all versions are retired, or none.
func TestRetireIdle(t *testing.T) {
	t.Parallel()
	a, b := idleVersion(), idleVersion()
	require.True(t, b.Acquire())
	require.False(t, RetireIdle([]*LoadedVersion{a, b}), "b works")
	require.True(t, a.Acquire(), "a was not changed")
	a.Release()
	b.Release()
	require.True(t, RetireIdle([]*LoadedVersion{a, b}))
	for _, v := range []*LoadedVersion{a, b} {
		require.False(t, v.Acquire())
		<-v.Drained()
		v.Retire() // has no effect
		require.Zero(t, v.InFlight())
	}
	require.False(t, RetireIdle([]*LoadedVersion{a}), "only once")
}

// TestRetireIdleRace: while requests come and go, a version is retired only between them, and no request
// holds it afterwards.
func TestRetireIdleRace(t *testing.T) {
	t.Parallel()
	for range 200 {
		v := idleVersion()
		var running atomic.Int32
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 50 {
					if !v.Acquire() {
						continue
					}
					running.Add(1)
					running.Add(-1)
					v.Release()
				}
			})
		}
		wg.Go(func() {
			for !RetireIdle([]*LoadedVersion{v}) {
			}
			if n := running.Load(); n != 0 {
				t.Errorf("%d requests held the version", n)
			}
		})
		wg.Wait()
		<-v.Drained()
	}
}
