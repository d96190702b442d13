package model

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestIdle: versions are idle when nobody holds one of them, and whoever waits for
// that is told when it may be so.
func TestIdle(t *testing.T) {
	t.Parallel()
	v := &LoadedVersion{drained: make(chan struct{})}
	v.refs.Store(1)
	require.True(t, v.Acquire())
	told := 0
	v.Stop(func() { told++ })
	require.True(t, v.Stopped())
	all := []*LoadedVersion{v}
	require.False(t, Idle(all), "a request that came before")
	s, ok := v.AcquireCallee()
	require.True(t, ok)
	v.Release()
	require.Zero(t, told)
	require.False(t, Idle(all), "a model holds it")
	s.Release()
	require.Equal(t, 1, told)
	require.True(t, Idle(all))
	v.Retire()
	_, ok = v.AcquireCallee()
	require.False(t, ok, "it is closed")
	require.True(t, Idle(all))
}

// TestIdleOfCallersInTurn: a request that goes from version to version, each held
// before the one before is given back, is never overlooked.
func TestIdleOfCallersInTurn(t *testing.T) {
	t.Parallel()
	all := make([]*LoadedVersion, 8)
	for i := range all {
		all[i] = &LoadedVersion{drained: make(chan struct{})}
		all[i].refs.Store(1)
		all[i].Stop(func() {})
	}
	held, ok := all[0].AcquireCallee()
	require.True(t, ok)
	began, looked := make(chan struct{}), make(chan struct{})
	over := make(chan struct{})
	go func() {
		defer close(over)
		close(began)
		for i := len(all); ; i-- { // against the order in which they are looked at
			next, _ := all[i%len(all)].AcquireCallee()
			held.Release()
			held = next
			select {
			case <-looked:
				return
			default:
			}
			if i == 0 {
				i = len(all)
			}
		}
	}()
	<-began
	idle := 0
	for range 100_000 {
		if Idle(all) {
			idle++
		}
	}
	close(looked)
	<-over
	require.Zero(t, idle)
	held.Release()
	require.True(t, Idle(all))
}
