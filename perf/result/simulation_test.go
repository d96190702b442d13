package result

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// disturbance is what a simulated machine does to runs.
type disturbance struct {
	name         string
	drift, burst bool
	moods        bool
	pace         float64 // how much that of the machine varies from one side to the next; it is measured
	changing     float64 // how much it varies within a side: it is one of two, and changes in a tenth of the repeats
}

var disturbances = []disturbance{
	{name: "quiet"},
	{name: "drift", drift: true},
	{name: "bursts", burst: true},
	{name: "moods", moods: true},
	{name: "pace", pace: 0.06},
	{name: "changing pace", changing: 0.1},
}

// simulateSides returns two sides of n repeats, measured one after the other, or in turn if paired. Servers differ
// by a factor of throughput. Runs vary by the coefficient of variation between runs, and both levels of
// a repeat partly together. Drift is a random walk that goes as far in the 2n repeats as half of cv;
// a burst of other load takes 30 % of a tenth of the repeats; a mood is what a third of cv varies from one side to the next.
// The pace of the machine changes the throughput by 1.2 times as much, between the sides and within them.
func simulateSides(rng *rand.Rand, n int, cv, factor float64, d disturbance, live bool) (a, b Side) {
	walk := 0.0
	moment := func() float64 {
		if d.drift {
			walk += cv / 2 / math.Sqrt(float64(2*n)) * rng.NormFloat64()
		}
		state := walk
		if d.burst && rng.Float64() < 0.1 {
			state -= 0.3
		}
		return state + cv*math.Sqrt(0.5)*rng.NormFloat64()
	}
	sides := [2]Side{}
	for s := range sides {
		f := file()
		f.Settings.Repeats = n
		if live {
			f.Settings.Live = "pair"
		}
		sides[s] = Side{Name: string(rune('A' + s)), Runs: []Run{{Name: "f", File: f}}}
	}
	add := func(s, repeat int, state, pace float64) {
		for _, load := range []float64{1, 8} {
			speed := state + cv*math.Sqrt(0.5)*rng.NormFloat64() + 0.01*rng.NormFloat64()
			if s == 1 {
				speed += math.Log(factor)
			}
			throughput := 10000 * math.Exp(speed)
			p99 := 2e6 * load / throughput * math.Exp(0.5*cv*rng.NormFloat64()+0.02*rng.NormFloat64())
			l := Level{BatchSize: 1, Load: load, Repeat: repeat, Stable: true, Requests: 9000, Throughput: throughput, Grade: "B"}
			latency := func(noise float64) Latency {
				return Latency{AvgUs: 1e6 * load / throughput * noise, Percentiles: []Percentile{{P: 99, Us: p99 * noise}}}
			}
			l.Latency = latency(1)
			l.Client.RoundTrips = 80_000 * math.Exp(pace+0.045*rng.NormFloat64())
			if rng.Float64() < 0.1 { // a processor was away
				l.Client.RoundTrips *= 0.7
			}
			for range 10 {
				noise := math.Exp(0.03 * rng.NormFloat64())
				l.Timeline = append(l.Timeline, Moment{DurationS: 900 / throughput * noise, Requests: 900, Latency: latency(noise)})
			}
			f := sides[s].Runs[0].File
			f.Levels = append(f.Levels, l)
		}
	}
	if live {
		for r := range n {
			common := moment()
			add(0, r+1, common, 0)
			add(1, r+1, common, 0)
		}
		return sides[0], sides[1]
	}
	for s := range sides {
		mood := 0.0
		if d.moods {
			mood = cv / 3 * rng.NormFloat64()
		}
		pace := d.pace * rng.NormFloat64()
		slow := rng.IntN(2) == 0
		for r := range n {
			if rng.Float64() < 0.1 {
				slow = !slow
			}
			now := pace
			if slow {
				now -= d.changing
			}
			add(s, r+1, mood+1.2*now+moment(), now)
		}
	}
	return sides[0], sides[1]
}

// found returns the share of comparisons that find a difference.
func found(t *testing.T, rng *rand.Rand, trials, n int, cv, factor float64, d disturbance, live bool) float64 {
	t.Helper()
	different := 0
	for range trials {
		a, b := simulateSides(rng, n, cv, factor, d, live)
		c, err := Compare(a, b, DefaultCompareOptions())
		require.NoError(t, err)
		if c.Worse+c.Better > 0 {
			different++
		}
	}
	return float64(different) / float64(trials)
}

// TestEqualServers: at most 5 % of the comparisons of equal servers say that they differ, whatever the machine
// does. The table is printed with -v.
func TestEqualServers(t *testing.T) {
	t.Parallel()
	trials := simulations(400)
	limit := 0.05 + 3*math.Sqrt(0.05*0.95/float64(trials))
	rng := rand.New(rand.NewPCG(11, 33))
	for _, live := range []bool{false, true} {
		for _, d := range disturbances {
			for _, cv := range []float64{0.02, 0.05, 0.16} {
				text := ""
				for _, n := range []int{1, 3, 5, 10, 25} {
					rate := found(t, rng, trials, n, cv, 1, d, live)
					text += fmt.Sprintf("  n=%d %4.1f %%", n, 100*rate)
					require.LessOrEqual(t, rate, limit, "%s, CV %g, %d repeats, live %t", d.name, cv, n, live)
				}
				t.Logf("equal, live %-5t %-13s CV %4.0f %%:%s", live, d.name, 100*cv, text)
			}
		}
	}
}

// TestPower: servers that differ by 10 % are told apart on a quiet machine, by 10 repeats or more, or by 5 in turn.
func TestPower(t *testing.T) {
	t.Parallel()
	trials := simulations(300)
	rng := rand.New(rand.NewPCG(11, 34))
	for _, live := range []bool{false, true} {
		for _, cv := range []float64{0.03, 0.05, 0.16} {
			text := ""
			for _, n := range []int{1, 3, 5, 10, 25} {
				rate := found(t, rng, trials, n, cv, 0.9, disturbances[0], live)
				text += fmt.Sprintf("  n=%d %3.0f %%", n, 100*rate)
				if cv == 0.03 && (n >= 10 || live && n >= 5) {
					require.GreaterOrEqual(t, rate, 0.8, "%d repeats, live %t", n, live)
				}
			}
			t.Logf("10 %% slower, live %-5t CV %2.0f %%:%s", live, 100*cv, text)
		}
	}
}

// simulations returns the number of trials: fewer with -short.
func simulations(n int) int {
	if testing.Short() {
		return n / 4
	}
	return n
}

// TestOtherLoadOnOneSide: a machine that others used during one side only allows no verdict, also not for servers
// that differ; one that others used during both does, and so do sides that were measured in turn.
func TestOtherLoadOnOneSide(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(11, 35))
	for _, c := range []struct {
		a, b float64
		live bool
		want string
	}{
		{2, 45, false, "No verdict: other programs used 2 % of the processors during A, 45 % during B."},
		{40, 45, false, "B is worse"},
		{2, 45, true, "B is worse"},
	} {
		a, b := simulateSides(rng, 10, 0.02, 0.7, disturbances[0], c.live)
		for side, percent := range map[*Side]float64{&a: c.a, &b: c.b} {
			levels := side.Runs[0].File.Levels
			for i := range levels {
				levels[i].Client.OthersPercent = &percent
			}
		}
		got, err := Compare(a, b, DefaultCompareOptions())
		require.NoError(t, err)
		require.Contains(t, got.Headline, c.want)
		require.Equal(t, c.want[0] == 'N', got.NoVerdict == len(got.Differences))
	}
}
