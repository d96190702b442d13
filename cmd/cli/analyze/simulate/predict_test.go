package simulate

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/analyzer/trial"
	"triton/pkg/inferencepb"
)

// TestPredictor: what a search is told of the curve of testdata: a batch of 8 takes 4.1 ms, of 1
// takes 2 ms.
func TestPredictor(t *testing.T) {
	t.Parallel()
	base := &inferencepb.ModelConfig{Name: "m", MaxBatchSize: 8}
	predict, err := Predictor("--cost-curve", []string{curveFile}, "", base, 1, time.Millisecond)
	require.NoError(t, err)
	dynamic := trial.Patch{"dynamic_batching": map[string]any{}}
	for _, test := range []struct {
		patch           trial.Patch
		load            trial.Load
		throughput, p99 float64
	}{
		{nil, trial.Load{Batch: 1, Concurrency: 1}, 500, 3},
		{nil, trial.Load{Batch: 8, Concurrency: 1}, 8 / 0.0041, 5.1},
		{nil, trial.Load{Batch: 1, Concurrency: 8}, 500, 17},
		{dynamic, trial.Load{Batch: 1, Concurrency: 16}, 8 / 0.0041, 9.2}, // one batch runs, one waits
		{nil, trial.Load{Batch: 1, RequestRate: 100}, 100, 3},
	} {
		throughput, p99, ok := predict(trial.Proposal{Members: []trial.ProposedMember{{Model: "m", Patch: test.patch, Load: test.load}}})
		require.True(t, ok)
		require.InEpsilon(t, test.throughput, throughput, 0.01, "%+v", test)
		require.InEpsilon(t, test.p99, p99, 0.01, "%+v", test)
	}
	_, err = Predictor("--cost-curve", []string{"none"}, "", base, 1, 0)
	require.ErrorContains(t, err, "--cost-curve none")
}
