package result

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/measure"
)

func TestMeanError(t *testing.T) {
	t.Parallel()
	err, freedom := meanError([]float64{1, 3, 1, 3}, 2)
	require.InDelta(t, math.Sqrt(4.0/3/4), err, 1e-9)
	require.Equal(t, 3.0, freedom)
	_, freedom = meanError([]float64{1, 2}, 1.5)
	require.Zero(t, freedom)
	err, freedom = meanError([]float64{5, 5, 5}, 5)
	require.Zero(t, err)
	require.Equal(t, 2.0, freedom)
	apart, _ := meanError([]float64{1, 3, 1, 3, 1, 3, 1, 3}, 2)
	slow, _ := meanError([]float64{1, 1, 1, 1, 3, 3, 3, 3}, 2)
	require.Greater(t, slow, 1.9*apart, "moments that depend on each other say less")
}

// simulate returns a level of n requests whose latencies depend on those before, as in a queue.
func simulate(rng *rand.Rand, n int, mean float64) Level {
	l := Level{BatchSize: 1, Load: 1, Stable: true, Requests: n}
	const moments = 30
	state, at := 0.0, 0.0
	var all []int64
	parts := make([][]int64, moments)
	starts := make([]float64, moments+1)
	for i := range n {
		state = 0.9*state + math.Sqrt(1-0.81)*rng.NormFloat64()
		us := mean * math.Exp(0.3*state-0.045)
		at += us / 1e6
		part := i * moments / n
		parts[part], all = append(parts[part], int64(us*1000)), append(all, int64(us*1000))
		starts[part+1] = at
	}
	latency := func(list []int64) Latency {
		slices.Sort(list)
		return Latency{AvgUs: float64(measure.Mean(list)) / 1000, Percentiles: []Percentile{{P: 99, Us: float64(measure.Percentile(list, 99)) / 1000}}}
	}
	for i, part := range parts {
		l.Timeline = append(l.Timeline, Moment{StartS: starts[i], DurationS: starts[i+1] - starts[i], Requests: len(part), Latency: latency(part)})
	}
	l.DurationS, l.Throughput, l.Latency = at, float64(n)/at, latency(all)
	return l
}

func file(levels ...Level) *File {
	return &File{Settings: Settings{Mode: Concurrency, Model: "m"}, Levels: levels}
}
