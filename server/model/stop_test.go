package model

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestIdle: versions are idle when no request holds one of them, and the function idle is called
// whenever that may be the case.
func TestIdle(t *testing.T) {
	t.Parallel()
	v := &LoadedVersion{drained: make(chan struct{}), running: newRunning(nil)}
	v.refs.Store(1)
	require.True(t, v.Acquire())
	called := 0
	v.Stop(func() { called++ })
	require.True(t, v.Stopped())
	all := []*LoadedVersion{v}
	require.False(t, Idle(all), "a request that came before")
	s, ok := v.AcquireCallee()
	require.True(t, ok)
	v.Release()
	require.Zero(t, called)
	require.False(t, Idle(all), "a model holds it")
	s.Release()
	require.Equal(t, 1, called)
	require.True(t, Idle(all))
	v.Retire()
	_, ok = v.AcquireCallee()
	require.False(t, ok, "it is closed")
	require.True(t, Idle(all))
}

// TestIdleOfConsecutiveCallers: a request that moves from version to version, and holds the next
// before it releases the last, always counts.
func TestIdleOfConsecutiveCallers(t *testing.T) {
	t.Parallel()
	all := make([]*LoadedVersion, 8)
	for i := range all {
		all[i] = &LoadedVersion{drained: make(chan struct{}), running: newRunning(nil)}
		all[i].refs.Store(1)
		all[i].Stop(func() {})
	}
	held, ok := all[0].AcquireCallee()
	require.True(t, ok)
	began, checked := make(chan struct{}), make(chan struct{})
	over := make(chan struct{})
	go func() {
		defer close(over)
		close(began)
		for i := len(all); ; i-- { // against the order in which they are checked
			next, _ := all[i%len(all)].AcquireCallee()
			held.Release()
			held = next
			select {
			case <-checked:
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
	close(checked)
	<-over
	require.Zero(t, idle)
	held.Release()
	require.True(t, Idle(all))
}
