package footprint_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/analyzer/memory/footprint"
)

// measured returns servers by pairs of count and throughput.
func measured(pairs ...float64) (all []footprint.Throughput) {
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, footprint.Throughput{Instances: int(pairs[i]), Value: pairs[i+1]})
	}
	return all
}

var usual = footprint.Rule{MinGain: 0.05, Most: 64, Repeats: 4}

func TestChoose(t *testing.T) {
	t.Parallel()
	busy := usual
	busy.Processors = 2
	bounded := usual
	bounded.Most = 4
	for name, c := range map[string]struct {
		rule               footprint.Rule
		servers            []footprint.Throughput
		chosen, best, more int
		contested, next    int
		capped             bool
	}{
		"nothing":                                {usual, nil, 0, 0, 0, 0, 0, false},
		"nothing within the user's limits":       {usual, measured(1, 0, 2, 0), 0, 0, 0, 0, 0, false},
		"one count":                              {usual, measured(1, 100), 1, 1, 0, 0, 2, false},
		"only a larger one":                      {usual, measured(3, 100), 3, 3, 0, 0, 1, false},
		"throughput falls: simple on two cores":  {busy, measured(1, 7430, 2, 7012, 3, 6564), 1, 1, 2, 0, 1, false},
		"it falls, and was repeated":             {busy, measured(1, 7430, 2, 7012, 3, 6564, 1, 7280), 1, 1, 2, 0, 0, false},
		"all the same":                           {usual, measured(1, 100, 2, 101, 4, 102, 1, 99), 1, 4, 2, 0, 4, false},
		"each instance helps":                    {usual, measured(1, 100, 2, 200, 4, 400), 4, 4, 0, 0, 8, false},
		"no more may be run":                     {bounded, measured(1, 100, 2, 200, 4, 400, 4, 395), 4, 4, 0, 0, 0, false},
		"12.6 % more, with an interval around 0": {busy, measured(1, 100, 2, 114.4, 1, 109.3), 1, 2, 2, 2, 2, false},
		"a count with one server hides none":     {usual, measured(1, 100, 1, 101, 1, 100, 2, 130, 2, 131, 2, 130, 4, 132), 2, 4, 4, 0, 0, false},
		"a small gain is looked at again":        {usual, measured(1, 100, 2, 108, 4, 107), 1, 2, 2, 2, 1, false},
		"then at the other one":                  {usual, measured(1, 100, 1, 101, 2, 108, 4, 107), 1, 2, 2, 2, 2, false},
		"a small gain that is no noise":          {usual, measured(1, 100, 1, 100, 1, 101, 2, 112, 2, 113, 2, 112), 2, 2, 0, 0, 4, false},
		"more than the processors":               {busy, measured(1, 100, 2, 200, 4, 212, 2, 199), 2, 2, 4, 0, 0, false},
		"more than the processors, proven":       {busy, measured(1, 100, 2, 200, 4, 300, 2, 199, 4, 301, 8, 297, 4, 299), 4, 4, 8, 0, 3, false},
		"only more than the processors":          {busy, measured(1, 0, 2, 0, 4, 100), 4, 4, 0, 0, 8, false},
		"nothing within the latency budget with": {usual, measured(1, 0, 2, 100, 4, 101, 2, 101), 2, 4, 4, 0, 4, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := footprint.Choose(c.servers, c.rule)
			require.Equal(t, []int{c.chosen, c.best, c.more, c.contested, c.next}, []int{got.Instances, got.Best, got.More.Instances, got.Contested, got.Next}, "%+v", got)
			require.Equal(t, c.capped, got.Capped)
		})
	}
}

func TestChangeHasAnInterval(t *testing.T) {
	t.Parallel()
	c := footprint.Choose(measured(1, 7430, 2, 7012, 4, 6564, 1, 7280), usual)
	require.InDelta(t, -0.0466, c.More.Value, 0.001)
	require.Less(t, c.More.Low, c.More.Value)
	require.Greater(t, c.More.High, 0.0, "a fall that may be noise")
	require.InDelta(t, 0.045, c.Noise, 0.002)
	windows := measured(1, 7430, 2, 7012)
	windows[0].Error, windows[1].Error = 0.1, 0.1
	require.InDelta(t, 0.1, footprint.Choose(windows, usual).Noise, 1e-9, "servers differ by what one measurement leaves open")
}

// standIn is a model whose throughput is known.
type standIn struct {
	name       string
	processors int // that it keeps busy
	best       int
	throughput func(k float64) float64
}

var standIns = []standIn{
	{"waits for others, eight at a time", 0, 8, func(k float64) float64 { return min(k, 8) }},
	{"computes, 2 processors", 2, 2, func(k float64) float64 { return min(k, 2) * (1 - 0.01*max(0, k-2)) }},
	{"computes, 4 processors", 4, 4, func(k float64) float64 { return min(k, 4) * (1 - 0.01*max(0, k-4)) }},
	{"a lock inside", 0, 1, func(k float64) float64 { return 1 / (1 + 0.02*(k-1)) }},
	{"uses both processors with one instance", 2, 1, func(k float64) float64 { return 1 - 0.03*(k-1) }},
	// Requests come at 3.9 times the rate of one instance: 4 answer all of them, 3 do not. The queue
	// is that of M/D/k, whose throughput is the smaller of the two rates.
	{"M/D/k, 3.9 instances offered", 0, 4, func(k float64) float64 { return min(k, 3.9) }},
}

// TestChooseStandIns lets Choose say which servers to measure until it is content. It must find the best
// count in 95 of 100 analyses where servers with the same count differ by 3 to 8 %, and come within a factor of
// two of it, never above twice the processors, where they differ by 16 %.
func TestChooseStandIns(t *testing.T) {
	t.Parallel()
	const analyses = 1000
	r := rand.New(rand.NewPCG(33, 1955))
	t.Logf("%-40s %6s %8s %8s %8s", "stand-in", "noise", "right", "within 2", "servers")
	for _, m := range standIns {
		for _, noise := range []float64{0.01, 0.03, 0.08, 0.16} {
			right, near, servers := 0, 0, 0
			for range analyses {
				rule := usual
				rule.Processors, rule.Repeats = m.processors, footprint.DefaultConfig().Repeats
				var all []footprint.Throughput
				add := func(k int) {
					all = append(all, footprint.Throughput{Instances: k, Value: m.throughput(float64(k)) * math.Exp(noise*r.NormFloat64()), Error: noise / 4})
				}
				for _, k := range []int{1, 2, 4} {
					add(k)
				}
				c := footprint.Choose(all, rule)
				for ; c.Next > 0; c = footprint.Choose(all, rule) {
					require.Less(t, len(all), footprint.DefaultConfig().MaxRuns, "%s: it does not end", m.name)
					add(c.Next)
				}
				servers += len(all)
				if c.Instances == m.best {
					right++
				}
				if c.Instances <= 2*m.best && 2*c.Instances >= m.best {
					near++
				}
			}
			t.Logf("%-40s %5.0f%% %7.1f%% %7.1f%% %8.1f", m.name, 100*noise, 100*float64(right)/analyses, 100*float64(near)/analyses, float64(servers)/analyses)
			if noise <= 0.08 {
				require.GreaterOrEqual(t, right, analyses*95/100, m.name)
			}
			require.GreaterOrEqual(t, near, analyses*95/100, m.name)
		}
	}
}

// TestUndecided: a smaller count is no more than a guess if another one may be better and servers differ much.
func TestUndecided(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		servers []footprint.Throughput
		want    bool
	}{
		"noisy, and two may be better": {measured(1, 100, 1, 170, 2, 130, 2, 220, 1, 95), true},
		"noisy, and one is the best":   {measured(1, 200, 1, 110, 2, 90, 2, 160), false},
		"quiet":                        {measured(1, 100, 1, 101, 2, 104, 2, 109), false},
		"no server was repeated":       {measured(1, 100, 2, 108), false},
	} {
		got := footprint.Choose(c.servers, usual)
		require.Equal(t, c.want, got.Undecided(), "%s: %+v", name, got)
	}
}
