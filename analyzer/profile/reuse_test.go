package profile

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"triton/analyzer/bench"
	"triton/analyzer/settings"
	"triton/analyzer/trial"
)

// TestFreshServers: a profile that reads the memory of servers needs a server without traces of other variants.
func TestFreshServers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "m")
	w.settings.CollectCPUMetrics = true
	w.proposals = []trial.Proposal{propose("m", 1, nil), propose("m", 2, nil), propose("m", 1, batch16), propose("m", 1, batch32)}
	_, err := w.run()
	require.NoError(t, err)
	assert.Len(t, w.mu.setups, 4, "one for the completion, one for each variant")
	assert.Empty(t, w.mu.unloaded)
}

// A server with other options, or on which something failed, is not used again.
func TestServerAfterFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "m", "n")
	w.settings.Models[1].ServerFlags = settings.Flags{{Name: "log-verbose", Values: []string{"1"}}}
	w.proposals = []trial.Proposal{propose("m", 1, nil), propose("m", 2, batch16), propose("m", 3, batch32), propose("n", 1, nil)}
	w.measure = func(o bench.LoadOptions) bench.Outcome {
		if o.Get("concurrency-range") == "2" {
			return bench.Outcome{Err: errors.New("the model does not answer")}
		}
		return bench.Outcome{Figures: bench.Figures{Stable: true}}
	}
	_, err := w.run()
	require.NoError(t, err)
	require.Len(t, w.mu.setups, 3)
	assert.Equal(t, []string{"--log-verbose=1"}, w.mu.setups[2].Flags)
}

// slowStop is a launcher whose servers stop when told to, each by a channel of its own.
type slowStop struct {
	*world
	stops []chan struct{}
}

func (l *slowStop) Overlapping() bool { return true }

func (l *slowStop) Launch(ctx context.Context, s bench.Setup) (bench.Server, error) {
	server, err := l.world.Launch(ctx, s)
	stop := make(chan struct{})
	l.stops = append(l.stops, stop)
	return slowServer{server, stop}, err
}

type slowServer struct {
	bench.Server
	stop chan struct{}
}

func (s slowServer) Close() error {
	<-s.stop
	return errors.Join(s.Server.Close(), errors.New("the server was killed"))
}

// The next variant is measured while the server before stops. At most two servers do so, the end of
// the profile waits for them, and a server that had to be killed fails nothing.
func TestStopInBackground(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "m")
	w.settings.CollectCPUMetrics = true
	w.proposals = []trial.Proposal{propose("m", 1, nil), propose("m", 1, batch16), propose("m", 1, batch32)}
	launcher := &slowStop{world: w}
	w.beforeTrial = func(n int) {
		if n == 2 {
			close(launcher.stops[0]) // the server of the completion; the third trial needs its place
		}
	}
	deps := w.deps()
	deps.Launcher = launcher
	var trials []string
	observe := deps.Observe
	deps.Observe = func(e Event) {
		observe(e)
		if m, ok := e.(Measured); ok {
			trials = append(trials, m.Result.Config.Members[0].Name)
		}
		if _, ok := e.(Searched); ok {
			assert.Equal(t, 3, w.mu.open, "two stop, one is idle")
			for _, stop := range launcher.stops[1:] {
				close(stop)
			}
		}
	}
	r, err := Run(t.Context(), w.settings, deps)
	require.NoError(t, err)
	assert.Equal(t, []string{"m_config_default", "m_config_0", "m_config_1"}, trials)
	assert.Zero(t, w.mu.open)
	assert.True(t, slices.Contains(r.Warnings, "stop the server: the server was killed"))
	assert.Positive(t, r.Models[0].Spent.Total)
}

func TestSpent(t *testing.T) {
	t.Parallel()
	s := Spent{Starting: time.Second, Stopping: 2 * time.Second, Loading: 3 * time.Second, Measuring: 4 * time.Second}
	d := s.since(Spent{Measuring: time.Second})
	d.Total = 10 * time.Second
	assert.Equal(t, "10.0 s: measuring 3.0 s, loading models 3.0 s, starting servers 1.0 s, waiting for servers to stop 2.0 s, the rest 1.0 s", d.String())
}
