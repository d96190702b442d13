package stats_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/stats"
)

// Clients refuse statistics whose three parts of the computation have different counts, also when they
// are read while requests are counted.
func TestSnapshotCountsTheParts(t *testing.T) {
	t.Parallel()
	m := stats.NewModel("m", "1", 8)
	d := m.Device(-1)
	end := make(chan struct{})
	var writer sync.WaitGroup
	defer writer.Wait()
	defer close(end)
	writer.Go(func() {
		for {
			select {
			case <-end:
				return
			default:
				d.Completed(&stats.Batch{Requests: 1, Succeeded: 1, Input: 1, Infer: 2, Output: 3})
			}
		}
	})
	for range 20000 {
		s := m.Snapshot().GetInferenceStats()
		require.Equal(t, s.GetComputeInput().GetCount(), s.GetComputeInfer().GetCount())
		require.Equal(t, s.GetComputeInfer().GetCount(), s.GetComputeOutput().GetCount())
	}
}
