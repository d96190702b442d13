package search

import (
	"encoding/json"
	"math/bits"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/analyzer/trial"
)

// TestPathsOfModelAnalyzer compares the climb with that of Model Analyzer 1.54, recorded over simulated
// servers: the coordinates (batch size, instances) in the order in which it first measured them.
func TestPathsOfModelAnalyzer(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/paths.json")
	require.NoError(t, err)
	var cases []struct {
		// The time of a batch: constant, for each row beyond the last but one value, and the
		// instances that run in parallel; the rows; the limit of the latency; the memory.
		Server [6]float64
		Last   [2]int // indices
		Path   [][2]int
	}
	require.NoError(t, json.Unmarshal(data, &cases))
	require.NotEmpty(t, cases)
	for i, c := range cases {
		s := quickDefaults(Model{Name: "m", MaxBatch: 4, Instances: 1})
		s.ModelBatch = Range{Min: 1, Max: 1 << c.Last[0]}
		s.Instances = Range{Min: 1, Max: c.Last[1] + 1}
		constant, row, parallel, free, limit, memory := c.Server[0], c.Server[1], c.Server[2], c.Server[3], c.Server[4], c.Server[5]
		judge := Judge{
			Score:     byThroughput,
			Passes:    func(m *trial.Measurement) bool { return m.Members[0][trial.LatencyP99] <= limit },
			Violation: func(m *trial.Measurement) float64 { return max(0, m.Members[0][trial.LatencyP99]/limit-1) },
		}
		shapes, _ := climbOver(t, s, judge, func(k, b int) *trial.Measurement {
			if float64(k*(4+b)) > memory {
				return nil
			}
			time := (constant + row*max(float64(b)-free, 0) + 0.2*row*float64(b)) * max(1, float64(k)/parallel)
			// Rounded as in the recording, since rounding decides between equal servers.
			x := float64(k*b) / time
			return measured(1000*x, 1000*2*float64(k*b)/(1000*x)*1000/1000)
		})
		var path [][2]int
		for _, shape := range shapes[1:] { // the first one is the default configuration
			path = append(path, [2]int{bits.Len(uint(shape[1])) - 1, shape[0] - 1})
		}
		require.Equal(t, c.Path, path, "server %d", i)
	}
}
