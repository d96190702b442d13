package stats_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/infer"
	"triton/server/stats"
)

// batch returns one execution of three requests with 1, 2 and 1 rows.
func batch() *stats.Batch {
	return &stats.Batch{Rows: 4, Requests: 3, Succeeded: 4, Total: 300, Queued: 30, Input: 1, Infer: 10, Output: 2, End: infer.Now()}
}

func duration(n, ns uint64) *inferencepb.StatisticDuration {
	return &inferencepb.StatisticDuration{Count: n, Ns: ns}
}

func TestSnapshot(t *testing.T) {
	t.Parallel()
	m := stats.NewModel("m", "3", 8)
	require.Zero(t, m.Snapshot().LastInference)
	m.Executed(batch())
	m.Executed(batch())
	m.Executed(&stats.Batch{Rows: 2, Requests: 1, Succeeded: 1, Total: 100, Queued: 5, Input: 1, Infer: 20, Output: 2, End: infer.Now()})
	m.Fail(stats.Backend, 70)
	m.Fail(stats.Canceled, 30)

	got := m.Snapshot()
	require.InDelta(t, time.Now().UnixMilli(), got.LastInference, 5000)
	require.Equal(t, "m", got.Name)
	require.Equal(t, "3", got.Version)
	require.EqualValues(t, 9, got.InferenceCount)
	require.EqualValues(t, 3, got.ExecutionCount)
	for _, c := range []struct {
		want, got *inferencepb.StatisticDuration
	}{
		{duration(7, 700), got.InferenceStats.Success},
		{duration(2, 100), got.InferenceStats.Fail},
		{duration(7, 65), got.InferenceStats.Queue},
		{duration(7, 7), got.InferenceStats.ComputeInput},
		{duration(7, 80), got.InferenceStats.ComputeInfer},
		{duration(7, 14), got.InferenceStats.ComputeOutput},
		{duration(0, 0), got.InferenceStats.CacheHit},
		{duration(0, 0), got.InferenceStats.CacheMiss},
	} {
		require.Equal(t, c.want.String(), c.got.String())
	}
	require.Len(t, got.BatchStats, 2)
	require.EqualValues(t, 2, got.BatchStats[0].BatchSize)
	require.Equal(t, duration(1, 20).String(), got.BatchStats[0].ComputeInfer.String())
	require.EqualValues(t, 4, got.BatchStats[1].BatchSize)
	require.Equal(t, duration(2, 20).String(), got.BatchStats[1].ComputeInfer.String(), "once per batch, not per request")
}

func TestReasons(t *testing.T) {
	t.Parallel()
	m := stats.NewModel("m", "1", 8)
	for i, f := range stats.Failures() {
		for range i + 1 {
			m.Fail(f, 1)
		}
	}
	for i, c := range stats.CloseReasons() {
		for range i + 1 {
			m.BatchFormed(c)
		}
	}
	got := m.Counters()
	var names []string
	for i, f := range stats.Failures() {
		require.EqualValues(t, i+1, got.Failures[f])
		names = append(names, f.String())
	}
	for i, c := range stats.CloseReasons() {
		require.EqualValues(t, i+1, got.Closes[c])
		names = append(names, c.String())
	}
	require.Equal(t, []string{"REJECTED", "CANCELED", "BACKEND", "OTHER", "immediate", "preferred", "full", "delay", "shape", "flush"}, names)
}

// Sizes beyond the table that is kept without a lock.
func TestRareSizes(t *testing.T) {
	t.Parallel()
	m := stats.NewModel("m", "1", 1<<30)
	for _, rows := range []int{5000, 3, 1 << 30, 5000} {
		m.Executed(&stats.Batch{Rows: rows, Requests: 1, Succeeded: rows})
	}
	var sizes []stats.Size
	for _, s := range m.Counters().Sizes {
		sizes = append(sizes, stats.Size{Rows: s.Rows, Count: s.Count})
	}
	require.Equal(t, []stats.Size{{Rows: 3, Count: 1}, {Rows: 5000, Count: 2}, {Rows: 1 << 30, Count: 1}}, sizes)
}

func TestManyWriters(t *testing.T) {
	t.Parallel()
	m := stats.NewModel("m", "1", 4)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				m.Executed(batch())
				m.Executed(&stats.Batch{Rows: 9000})
				_ = m.Snapshot()
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 1600, m.Counters().Executions)
	require.EqualValues(t, 3200, m.Counters().Inferences)
}

func BenchmarkExecuted(b *testing.B) {
	m, one := stats.NewModel("m", "1", 8), batch()
	b.ReportAllocs()
	for b.Loop() {
		m.Executed(one)
	}
}
