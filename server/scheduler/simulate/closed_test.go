package simulate

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/scheduler"
)

// TestClosed: with one instance and no batching, n clients wait n executions each; with more
// instances than clients, one.
func TestClosed(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	m := Model{Config: &inferencepb.ModelConfig{}, Instances: 1, Cost: Linear(5*ms, 0)}
	for clients, want := range map[int]time.Duration{1: 5 * ms, 3: 15 * ms} {
		r, trace := RunClosed(m, clients, 1, 90)
		require.Len(t, trace, 90)
		require.Equal(t, 90, r.Count(Answered))
		require.Equal(t, 90*5*ms, r.End(), "the instance never waits")
		require.Equal(t, want, r.Latency[50])
		require.Equal(t, r.Latency[50]+trace[50].At, trace[50+clients].At, "a client sends when it is answered")
	}
	m.Instances = 4
	r, _ := RunClosed(m, 3, 1, 90)
	require.Equal(t, 5*ms, r.Latency[50])
	require.Equal(t, 150*ms, r.End())
}

// TestClosedBatches: clients that wait for one batch send together, and are one batch again.
func TestClosedBatches(t *testing.T) {
	t.Parallel()
	config := &inferencepb.ModelConfig{MaxBatchSize: 8, SchedulingChoice: &inferencepb.ModelConfig_DynamicBatching{
		DynamicBatching: &inferencepb.ModelDynamicBatching{MaxQueueDelayMicroseconds: 1000},
	}}
	r, _ := RunClosed(Model{Config: config, Instances: 1, Cost: Linear(time.Millisecond, time.Millisecond)}, 4, 2, 400)
	for _, b := range r.Batches {
		require.Equal(t, 8, b.Rows)
	}
}

// TestClosedWithoutAnswer: requests that are never answered end the run, and so do no
// requests.
func TestClosedWithoutAnswer(t *testing.T) {
	t.Parallel()
	m := Model{Config: &inferencepb.ModelConfig{}, Cost: Linear(time.Millisecond, 0)}
	r, trace := RunClosed(m, 4, 1, 0)
	require.Empty(t, trace)
	require.Empty(t, r.Batches)
	m.Policy = never{}
	r, trace = RunClosed(m, 4, 1, 100)
	require.Len(t, trace, 4)
	require.Equal(t, 4, r.Count(Waiting))
}

// never makes no batch due.
type never struct{}

func (never) Evaluate(*scheduler.PriorityQueue, int64, bool) scheduler.Decision {
	return scheduler.Decision{}
}
