package instance_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"triton/pkg/inferencepb"
	"triton/server/backend"
	"triton/server/backend/backendtest"
	"triton/server/hostpolicy"
	"triton/server/hostpolicy/hostpolicytest"
	"triton/server/infer"
	"triton/server/instance"
	"triton/server/stats"
)

// calls are the threads on which an instance is called.
type calls struct {
	mu  sync.Mutex
	all []calledAt
}

type calledAt struct {
	thread int
	state  hostpolicytest.State
}

func (c *calls) note() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, calledAt{unix.Gettid(), hostpolicytest.Here()})
}

func (c *calls) take() []calledAt {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.all
	c.all = nil
	return all
}

func bindTo(settings map[string]string) func(*instance.Options) {
	return func(o *instance.Options) {
		for i := range o.Placements {
			o.Placements[i].HostPolicy = hostpolicy.Policy{Name: "narrow", Settings: settings}
		}
	}
}

// TestBoundInstance: all calls of an instance are made on one bound thread, whichever goroutine has
// the batch; the instance that replaces a broken one has another bound thread.
func TestBoundInstance(t *testing.T) {
	t.Parallel()
	settings, bound := hostpolicytest.Narrow(t)
	for name, change := range map[string]func(*instance.Options){"inline": func(*instance.Options) {}, "handover": handOver} {
		var seen calls
		m := &backendtest.Model{
			Make:            func(int, backend.Placement) error { seen.note(); return nil },
			InstanceClosing: seen.note,
		}
		m.Run = func(_ context.Context, b *infer.Batch) error {
			seen.note()
			if b.Requests[0].ID == "panic" {
				panic("on the bound thread")
			}
			return nil
		}
		g, _ := group(t, &inferencepb.ModelConfig{}, m, 1, bindTo(settings), change)
		one := func(all []calledAt, n int) int {
			require.Len(t, all, n, name)
			for _, c := range all {
				require.Equal(t, calledAt{all[0].thread, bound}, c, name)
			}
			return all[0].thread
		}
		for range 3 {
			require.NoError(t, call(t.Context(), g, request("", 1)))
		}
		first := one(seen.take(), 4)
		require.ErrorContains(t, call(t.Context(), g, request("panic", 1)), "broke down during execution")
		require.Eventually(t, func() bool { return g.Instances()[0].Restarts == 1 }, time.Minute, time.Millisecond)
		all := seen.take() // the execution, the end of the old instance, the new one
		require.Len(t, all, 3)
		require.Equal(t, first, one(all[:2], 2))
		require.NotEqual(t, first, one(all[2:], 1))
		require.NoError(t, g.Drain(context.Background()))
		one(seen.take(), 1)
	}
}

// TestUnboundInstance: without settings no thread is made.
func TestUnboundInstance(t *testing.T) {
	t.Parallel()
	var seen calls
	m := &backendtest.Model{}
	m.Run = func(context.Context, *infer.Batch) error { seen.note(); return nil }
	g, _ := group(t, &inferencepb.ModelConfig{}, m, 1, bindTo(nil))
	require.NoError(t, call(t.Context(), g, request("", 1)))
	require.Equal(t, hostpolicytest.Of("/proc/self"), seen.take()[0].state)
}

// TestInstanceThatCannotBeBound: it is not made, and a panic of NewInstance on a bound thread is an
// error.
func TestInstanceThatCannotBeBound(t *testing.T) {
	t.Parallel()
	start := func(m backend.Model, settings map[string]string) error {
		cfg := &inferencepb.ModelConfig{}
		o := instance.Options{
			Name: "m", Version: "1", Config: cfg, Model: m, Placements: make([]backend.Placement, 1),
			Stats: stats.NewModel("m", "1", 1), Log: slog.New(slog.DiscardHandler),
		}
		o.Source, o.Slots = queue(cfg, 1, o.Stats, nil)
		bindTo(settings)(&o)
		return instance.New(o).Start(t.Context())
	}
	m := &backendtest.Model{Make: func(int, backend.Placement) error { return errors.New("it is made") }}
	require.ErrorContains(t, start(m, map[string]string{hostpolicy.Cores: "0"}), "Got 0")
	require.Equal(t, 1, m.Closed(), "the model")
	settings, _ := hostpolicytest.Narrow(t)
	require.ErrorContains(t, start(m, settings), "it is made")
	m = &backendtest.Model{Make: func(int, backend.Placement) error { panic("no instance") }}
	require.ErrorContains(t, start(m, settings), "panic: no instance")
}
