package stats_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/stats"
)

func TestResponsesAreCountedByIndex(t *testing.T) {
	t.Parallel()
	m := stats.NewModel("m", "1", 0)
	require.Nil(t, m.Snapshot().ResponseStats)
	for _, r := range []stats.Response{
		{Index: 0, Infer: 5, Output: 2},
		{Index: 0, Infer: 6, Output: 1},
		{Index: 2, Infer: 7, Output: 3, Outcome: stats.Failed},
		{Index: 2, Infer: 5, Outcome: stats.Failed},
		{Index: 1, Infer: 8, Outcome: stats.Empty},
		{Index: 1, Infer: 9, Outcome: stats.Abandoned},
		{Index: 1 << 40, Infer: 1},
	} {
		m.Responded(r)
	}
	d := func(n, ns uint64) *inferencepb.StatisticDuration {
		return &inferencepb.StatisticDuration{Count: n, Ns: ns}
	}
	require.Equal(t, map[string]*inferencepb.InferResponseStatistics{
		"0": {ComputeInfer: d(2, 11), ComputeOutput: d(2, 3), Success: d(2, 14), Fail: d(0, 0), EmptyResponse: d(0, 0), Cancel: d(0, 0)},
		"1": {ComputeInfer: d(1, 8), ComputeOutput: d(0, 0), Success: d(0, 0), Fail: d(0, 0), EmptyResponse: d(1, 8), Cancel: d(1, 9)},
		"2": {ComputeInfer: d(2, 12), ComputeOutput: d(1, 3), Success: d(0, 0), Fail: d(2, 15), EmptyResponse: d(0, 0), Cancel: d(0, 0)},
	}, m.Snapshot().ResponseStats)
}
