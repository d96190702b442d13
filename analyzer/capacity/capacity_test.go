package capacity

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
)

// TestOutcome: three requests of 10 ms on one instance, by hand.
func TestOutcome(t *testing.T) {
	t.Parallel()
	p := planner(t, CurvePoint{Batch: 1, Time: 10 * ms}, CurvePoint{Batch: 2, Time: 20 * ms})
	p.Overhead = ms
	s := Setting{Instances: 1, Delay: NoDelay}
	o := p.Run(s, []Arrival{{At: 0}, {At: 5 * ms, Rows: 2}, {At: 40 * ms}})
	require.Equal(t, Outcome{
		Setting: s, Requests: 3, Answered: 3, Offered: 50, Throughput: 60, Rows: 80, Utilization: 0.8, Executions: 3, MeanBatch: 4.0 / 3,
		Mean: (11 + 26 + 11) * ms / 3, P50: 11 * ms, P90: 26 * ms, P95: 26 * ms, P99: 26 * ms, Max: 26 * ms,
		MeanQueue: 5 * ms / 3, P99Queue: 5 * ms,
	}, o)
	require.Equal(t, Outcome{Setting: s}, p.Run(s, nil))
}

// TestOverload: at more than an instance can do, the backlog grows with the length of the load.
func TestOverload(t *testing.T) {
	t.Parallel()
	p := planner(t, CurvePoint{Batch: 1, Time: 10 * ms})
	for rate, want := range map[float64]bool{50: false, 90: false, 120: true, 1000: true} {
		o := p.Run(Setting{Instances: 1, Delay: NoDelay}, Load{Rate: rate, Rows: 1, Requests: 20000, Seed: 1}.Arrivals())
		require.Equal(t, want, o.Overloaded, "%g/s", rate)
		require.InEpsilon(t, min(rate, 100), o.Throughput, 0.02)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	p := planner(t, CurvePoint{Batch: 1, Time: 10 * ms})
	p.Queue = fifo{limit: 2}
	o := p.Run(Setting{Instances: 1, Delay: NoDelay}, Load{Rate: 200, Rows: 1, Requests: 2000, Constant: true}.Arrivals())
	require.InDelta(t, 1000, o.Rejected, 3, "half of them")
	require.Equal(t, 2000, o.Answered+o.Rejected)
	require.LessOrEqual(t, o.Max, 30*ms)
	require.False(t, o.Overloaded, "the queue is short")
}

func TestLoad(t *testing.T) {
	t.Parallel()
	l := Load{Rate: 1000, Rows: 4, Requests: 100_000, Seed: 5}
	a := l.Arrivals()
	require.Equal(t, a, l.Arrivals())
	span := a[len(a)-1].At
	require.InEpsilon(t, 100, span.Seconds(), 0.02)
	// The gaps of a Poisson process vary by as much as their mean.
	sum := 0.0
	for i := 1; i < len(a); i++ {
		gap := (a[i].At - a[i-1].At).Seconds() * 1000
		sum += (gap - 1) * (gap - 1)
	}
	require.InEpsilon(t, 1, sum/float64(len(a)), 0.03)
	l.Constant = true
	a = l.Arrivals()
	require.Equal(t, []Arrival{{0, 4, 0, 0}, {ms, 4, 0, 0}, {2 * ms, 4, 0, 0}}, a[:3])
	l.Seed++
	require.Equal(t, a, l.Arrivals())
	require.NoError(t, l.Check())
	for _, bad := range []Load{{Rate: 0, Rows: 1, Requests: 1}, {Rate: 1, Rows: 0, Requests: 1}, {Rate: 1, Rows: 1}, {Rate: 1, Rows: 1, Requests: maxRequests + 1}} {
		require.Error(t, bad.Check(), "%+v", bad)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	s := Space{MaxBatch: []int{1, 8}, Delays: []time.Duration{NoDelay, 0, ms}, Preferred: []int{4, 16}, Instances: []int{1, 2}, Devices: []int{1, 2}}
	all := s.Settings()
	var texts []string
	for _, one := range all {
		texts = append(texts, one.String())
	}
	require.Equal(t, []string{
		"max_batch_size 1, no dynamic batching, 1 on 1", "max_batch_size 1, no dynamic batching, 2 on 1",
		"max_batch_size 1, no dynamic batching, 2 on 2", "max_batch_size 1, no dynamic batching, 4 on 2",
		"max_batch_size 8, no dynamic batching, 1 on 1", "max_batch_size 8, no dynamic batching, 2 on 1",
		"max_batch_size 8, no dynamic batching, 2 on 2", "max_batch_size 8, no dynamic batching, 4 on 2",
		"max_batch_size 8, delay 0s, preferred 4 16, 1 on 1", "max_batch_size 8, delay 0s, preferred 4 16, 2 on 1",
		"max_batch_size 8, delay 0s, preferred 4 16, 2 on 2", "max_batch_size 8, delay 0s, preferred 4 16, 4 on 2",
		"max_batch_size 8, delay 1ms, preferred 4 16, 1 on 1", "max_batch_size 8, delay 1ms, preferred 4 16, 2 on 1",
		"max_batch_size 8, delay 1ms, preferred 4 16, 2 on 2", "max_batch_size 8, delay 1ms, preferred 4 16, 4 on 2",
	}, texts, "without batching there is no delay")
	require.Equal(t, 2, Setting{Instances: 5, Devices: 3}.PerDevice())
}

// TestConfig: what a setting says replaces what the configuration says, the rest stays.
func TestConfig(t *testing.T) {
	t.Parallel()
	base := &inferencepb.ModelConfig{Name: "m", MaxBatchSize: 2, SchedulingChoice: &inferencepb.ModelConfig_DynamicBatching{
		DynamicBatching: &inferencepb.ModelDynamicBatching{PriorityLevels: 3, PreferredBatchSize: []int32{2}},
	}}
	p := Planner{Base: base}
	c := p.config(Setting{MaxBatch: 8, Delay: 2 * ms, Preferred: []int{4, 16}})
	require.Equal(t, int32(8), c.GetMaxBatchSize())
	require.Equal(t, uint64(2000), c.GetDynamicBatching().GetMaxQueueDelayMicroseconds())
	require.Equal(t, uint64(3), c.GetDynamicBatching().GetPriorityLevels())
	require.Equal(t, []int32{4}, c.GetDynamicBatching().GetPreferredBatchSize(), "those that fit")
	require.Nil(t, p.config(Setting{MaxBatch: 8, Delay: NoDelay}).GetDynamicBatching())
	require.Equal(t, []int32{2}, base.GetDynamicBatching().GetPreferredBatchSize(), "the base is not changed")
}
