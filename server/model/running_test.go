package model

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/backend"
	"triton/server/backend/backendtest"
	"triton/server/instance"
	"triton/server/scheduler"
	"triton/server/stats"
)

// TestLastUser: the last version that is closed closes what serves, also if the close of another one was
// called again, before or after its end.
func TestLastUser(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(r *running, v *LoadedVersion){
		"once":             func(*running, *LoadedVersion) {},
		"again afterwards": func(r *running, v *LoadedVersion) { require.False(t, r.closing(v)) },
		"at the same time": func(r *running, v *LoadedVersion) { r.leave(v) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, after := &LoadedVersion{}, &LoadedVersion{}
			r := newRunning(before)
			r.share(after)
			require.False(t, r.closing(before), "the other one serves")
			require.False(t, r.closing(before), "it may be called again")
			r.leave(before)
			again(r, before)
			require.True(t, r.closing(after))
			require.True(t, r.closing(after), "it may be called again")
		})
	}
}

// TestLastUserOfSeveral: versions that are closed at the same time do not wait for each other.
func TestLastUserOfSeveral(t *testing.T) {
	t.Parallel()
	before, after := &LoadedVersion{}, &LoadedVersion{}
	r := newRunning(before)
	r.share(after)
	require.False(t, r.closing(before))
	require.True(t, r.closing(after), "the other one is being closed too")
	r.leave(before)
	require.True(t, r.closing(after))
}

// TestAddedInstancesCloseBeforeTheModel: a load has failed whose instances are still being closed when the
// model is unloaded. The backend's model outlives them.
func TestAddedInstancesCloseBeforeTheModel(t *testing.T) {
	t.Parallel()
	var closed, before atomic.Int32
	begun, let, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	m := &backendtest.Model{
		InstanceClosing: func() {
			if !first.Swap(true) {
				close(begun)
				<-let
			}
			closed.Add(1)
		},
		Closing: func() { before.Store(closed.Load()); close(over) },
	}
	counters := stats.NewModel("m", "1", 0)
	source, slots := scheduler.NewQueue(scheduler.Options{Policy: scheduler.NoBatching{}, Slots: 1, Stats: counters})
	g := instance.New(instance.Options{
		Name: "m", Version: "1", Config: &inferencepb.ModelConfig{}, Model: m, Placements: make([]backend.Placement, 1),
		Source: source, Slots: slots, Stats: counters, Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, g.Start(t.Context()))
	b := &Builder{opts: Options{Log: slog.New(slog.DiscardHandler)}}
	serves, added := &LoadedVersion{drained: make(chan struct{})}, &LoadedVersion{drained: make(chan struct{})}
	close(added.drained)
	serves.running = newRunning(serves)
	serves.group, serves.runner = g, g
	added.running = serves.running
	serves.share(added)
	var err error
	added.resizing.change, err = g.Prepare(t.Context(), make([]backend.Placement, 2), nil)
	require.NoError(t, err)

	var all sync.WaitGroup
	all.Go(func() { _, _ = b.closeRunning(t.Context(), added, added.closing(added)) })
	<-begun
	all.Go(func() { _, _ = b.closeRunning(t.Context(), serves, serves.closing(serves)) })
	select {
	case <-over: // too early
	case <-time.After(20 * time.Millisecond):
	}
	close(let)
	all.Wait()
	require.EqualValues(t, 2, before.Load(), "instances that were closed before the model")
}
