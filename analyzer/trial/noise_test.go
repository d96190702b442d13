package trial

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// within returns a measurement with intervals around its throughput and its p99 latency, as a share
// of them.
func within(throughput, latency, share float64) *Measurement {
	m := measured(Values{Throughput: throughput, LatencyP99: latency})
	m.Confidence = map[Metric]Interval{
		Throughput: {throughput * (1 - share), throughput * (1 + share)},
		LatencyP99: {latency * (1 - share), latency * (1 + share)},
	}
	return m
}

func TestBetterBeyondNoise(t *testing.T) {
	t.Parallel()
	broken := within(110, 10, 0.2)
	broken.Confidence = map[Metric]Interval{Throughput: {math.NaN(), math.NaN()}}
	for _, c := range []struct {
		name  string
		goals []Goal
		a, b  *Measurement
		want  bool
	}{
		{"the intervals overlap", []Goal{{}}, within(110, 10, 0.06), within(100, 10, 0.06), false},
		{"the intervals do not overlap", []Goal{{}}, within(110, 10, 0.04), within(100, 10, 0.04), true},
		{"worse", []Goal{{}}, within(90, 10, 0.01), within(100, 10, 0.01), false},
		{"equal without noise", []Goal{{}}, within(100, 10, 0), within(100, 10, 0), false},
		{"a low latency is better", []Goal{weigh("perf_latency_p99", 1)}, within(100, 9, 0.04), within(100, 10, 0.04), true},
		{"latencies overlap", []Goal{weigh("perf_latency", 1)}, within(100, 9, 0.06), within(100, 10, 0.06), false},
		{"one objective pays for the noise of the other", []Goal{weigh("perf_throughput", 9, "perf_latency_p99", 1)}, within(150, 10, 0.05), within(100, 10, 0.05), true},
		{"neither pays", []Goal{weigh("perf_throughput", 1, "perf_latency_p99", 1)}, within(110, 10, 0.05), within(100, 10, 0.05), false},
		{"one interval", []Goal{{}}, within(110, 10, 0.15), measured(Values{Throughput: 100}), false},
		{"no intervals", []Goal{{}}, measured(Values{Throughput: 101}), measured(Values{Throughput: 100}), true},
		{"an interval that is no number", []Goal{{}}, broken, within(100, 10, 0.05), true},
		{"not measured", []Goal{{}}, nil, within(100, 10, 0.05), false},
	} {
		assert.Equal(t, c.want, NewScorer(c.goals...).BetterBeyondNoise(c.a, c.b), c.name)
	}
	m := within(100, 10, 0.5)
	NewScorer(Goal{}).BetterBeyondNoise(m, m)
	assert.Equal(t, within(100, 10, 0.5), m, "measurements are not changed")
}

func TestRecommend(t *testing.T) {
	t.Parallel()
	of := func(name string, m *Measurement) Result {
		v := Variant{Name: name}
		if name != "default" {
			v.Patch = Patch{"max_batch_size": 8}
		}
		return Result{Config: Config{Members: []Member{{Variant: v}}}, Measurement: m}
	}
	limit := Goal{Constraints: []Constraint{{Tag: LatencyP99, Max: at(15)}}}
	for _, c := range []struct {
		name        string
		goal        Goal
		results     []Result
		serve, best string
	}{
		{"beyond noise", Goal{}, []Result{of("default", within(100, 10, 0.03)), of("a", within(120, 10, 0.03))}, "a", "a"},
		{"within noise", Goal{}, []Result{of("default", within(100, 10, 0.06)), of("a", within(110, 10, 0.06))}, "default", "a"},
		{"the default is best", Goal{}, []Result{of("default", within(100, 10, 0.06)), of("a", within(90, 10, 0.06))}, "default", "default"},
		{"no default", Goal{}, []Result{of("a", within(100, 10, 0.06)), of("b", within(101, 10, 0.06))}, "b", "b"},
		{"the default violates the constraints", limit, []Result{of("default", within(200, 20, 0.06)), of("a", within(100, 10, 0.06))}, "a", "a"},
		{"all violate them", limit, []Result{of("default", within(200, 20, 0.06)), of("a", within(205, 20, 0.06))}, "a", "a"},
		{"the best violates them", limit, []Result{of("a", within(300, 30, 0.06)), of("b", within(105, 10, 0.06)), of("default", within(100, 10, 0.06))}, "default", "b"},
	} {
		s := NewScorer(c.goal)
		ranked := s.Rank(c.results)
		serve, best := s.Recommend(ranked)
		assert.Equal(t, [2]string{c.serve, c.best}, [2]string{ranked[serve].Key, ranked[best].Key}, c.name)
	}
}
