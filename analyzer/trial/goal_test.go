package trial

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCatalogue(t *testing.T) {
	t.Parallel()
	seen := map[Metric]bool{}
	for _, tag := range Metrics() {
		assert.False(t, seen[tag], "%s is there twice", tag)
		seen[tag] = true
		s, err := FindMetric(tag)
		require.NoError(t, err)
		assert.Equal(t, tag, s.Tag)
		assert.NotEmpty(t, s.Header)
	}
	assert.Len(t, seen, 19+2*9+9)
	higher := []Metric{}
	for _, tag := range Metrics() {
		if s, _ := FindMetric(tag); s.Higher {
			higher = append(higher, tag)
		}
	}
	assert.ElementsMatch(t, []Metric{
		Throughput, GPUFreeMemory, GPUTotalMemory, GPUUtilization, CPUAvailableRAM, OutputThroughput,
		GPUHeadroom, InstancesFit,
	}, higher)
}

func TestConstraintFailure(t *testing.T) {
	t.Parallel()
	at := func(v float64) *float64 { return &v }
	for _, c := range []struct {
		name       string
		constraint Constraint
		value      float64
		want       float64
	}{
		{"below min", Constraint{Min: at(200)}, 150, 0.25},
		{"at min", Constraint{Min: at(200)}, 200, 0},
		{"above max", Constraint{Max: at(100)}, 150, 0.5},
		{"at max", Constraint{Max: at(100)}, 100, 0},
		{"between", Constraint{Min: at(1), Max: at(3)}, 2, 0},
		{"above max of both", Constraint{Min: at(1), Max: at(2)}, 3, 0.5},
		{"max of 0", Constraint{Max: at(0)}, 0.25, 0.25},
		{"none", Constraint{}, 1e9, 0},
		{"of one device only", Constraint{MaxPerGPU: at(1)}, 5, 0},
	} {
		assert.InDelta(t, c.want, c.constraint.Violation(c.value), 1e-12, c.name)
	}
	assert.InDelta(t, 4, Constraint{MaxPerGPU: at(1)}.ViolationPerGPU(5), 1e-12)
}

func TestGainAndDifference(t *testing.T) {
	t.Parallel()
	throughput, latency := MetricSpec{Higher: true}, MetricSpec{}
	for _, c := range []struct {
		spec             MetricSpec
		a, b             float64
		gain, difference float64
	}{
		{throughput, 150, 100, 50, 0.4},
		{throughput, 100, 150, -100.0 / 3, -0.4},
		{latency, 10, 15, 50, 0.4},
		{latency, 15, 10, -100.0 / 3, -0.4},
		{throughput, 5, 0, 100, 2},
		{throughput, 0, 5, -100, -2},
		{latency, 0, 5, 100, 2},
		{latency, 5, 0, -100, -2},
		{throughput, 0, 0, 0, 0},
		{latency, 7, 7, 0, 0},
	} {
		assert.InDelta(t, c.gain, c.spec.Gain(c.a, c.b), 1e-9, "gain of %v", c)
		assert.InDelta(t, c.difference, c.spec.Difference(c.a, c.b), 1e-9, "difference of %v", c)
	}
}

func TestShares(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []float64{0.25, 0.75}, weightShares([]int{1, 3}))
	assert.Equal(t, []float64{0.5, 0.5}, weightShares([]int{0, -4}), "weights that are none count as 1")
	assert.Empty(t, weightShares(nil))
	assert.Equal(t, []float64{1}, Goal{Objectives: DefaultObjectives()}.Weights())
}

func TestCombine(t *testing.T) {
	t.Parallel()
	assert.InDelta(t, 6, Sum.Combine([]float64{1, 2, 3}), 0)
	assert.InDelta(t, 2, Mean.Combine([]float64{1, 2, 3}), 0)
	assert.Zero(t, Sum.Combine(nil))
	assert.Zero(t, Mean.Combine(nil))
}
