package footprint_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/analyzer/memory/footprint"
)

// moody is a machine that is up to depth faster or slower for a few seconds at a time. Times are in seconds.
type moody struct {
	random        *rand.Rand
	depth, length float64
	speed         float64
	until         float64 // when the speed changes
}

// mean returns the mean speed of a time that is later than those before.
func (m *moody) mean(from, to float64) float64 {
	sum := 0.0
	for at := from; at < to; {
		for m.until <= at {
			m.speed = 1 + m.depth*(2*m.random.Float64()-1)
			m.until += m.length * m.random.ExpFloat64()
		}
		next := min(m.until, to)
		sum += m.speed * (next - at)
		at = next
	}
	return sum / (to - from)
}

// analysis is what an analysis measures: the counts at first, how long the throughput of a server is measured, and
// how long it takes from one server to the next.
type analysis struct {
	counts         []int
	measured, each float64
	repeats        int
	more           bool // further counts may be measured
}

var (
	quick  = analysis{[]int{1, 2}, 1.2, 6, 1, false}
	normal = analysis{[]int{1, 2, 4}, 4, 12, footprint.DefaultConfig().Repeats, true}
)

// run lets Choose say what to measure until it is content.
func (a analysis) run(m standIn, between float64, machine *moody) (footprint.Choice, int) {
	now := 0.0
	var all []footprint.Throughput
	add := func(k int) {
		value := m.throughput(float64(k)) * math.Exp(between*machine.random.NormFloat64()) * machine.mean(now, now+a.measured)
		all = append(all, footprint.Throughput{Instances: k, Value: value, Error: 0.01})
		now += a.each
	}
	for _, k := range a.counts {
		add(k)
	}
	rule := footprint.Rule{MinGain: 0.05, Processors: m.processors, Most: 64, Repeats: a.repeats}
	if !a.more {
		rule.Most = a.counts[len(a.counts)-1]
	}
	c := footprint.Choose(all, rule)
	for ; c.Next > 0; c = footprint.Choose(all, rule) {
		add(c.Next)
	}
	return c, len(all)
}

// TestChooseOnAMoodyMachine simulates what was seen on two cores: servers with the same count differ by 5 %, and the
// machine is up to 10 % faster or slower for seconds. Ten analyses of a model to which a second instance gives nothing
// shall all say 1, and a gain of 15 % is to be found without --quick.
func TestChooseOnAMoodyMachine(t *testing.T) {
	t.Parallel()
	gains := func(by float64) standIn {
		return standIn{"a second instance gives more", 2, 2, func(k float64) float64 { return 1 + by*min(1, k-1) }}
	}
	const analyses = 2000
	for _, c := range []struct {
		name string
		analysis
		gain  float64
		count int
		least float64 // share of the analyses with this count
	}{
		{"quick, nothing gained", quick, 0, 1, 0.995},
		{"quick, 3 % gained", quick, 0.03, 1, 0.99},
		{"quick, 15 % gained", quick, 0.15, 1, 0.85},
		{"quick, 20 % gained", quick, 0.20, 1, 0.70},
		{"quick, 80 % gained", quick, 0.8, 2, 0.99},
		{"nothing gained", normal, 0, 1, 0.99},
		{"3 % gained", normal, 0.03, 1, 0.95},
		{"15 % gained", normal, 0.15, 2, 0.88},
		{"20 % gained", normal, 0.20, 2, 0.97},
		{"80 % gained", normal, 0.80, 2, 0.99},
	} {
		random := rand.New(rand.NewPCG(7, 1961))
		right, servers := 0, 0
		for range analyses {
			machine := &moody{random: random, depth: 0.1, length: 4, speed: 1}
			choice, n := c.run(gains(c.gain), 0.05, machine)
			servers += n
			if choice.Instances == c.count {
				right++
			}
		}
		t.Logf("%-22s %5.1f %% say %d, %.1f servers", c.name, 100*float64(right)/analyses, c.count, float64(servers)/analyses)
		require.GreaterOrEqual(t, float64(right)/analyses, c.least, c.name)
	}
}
