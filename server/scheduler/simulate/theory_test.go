package simulate

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
)

// poisson returns n arrivals at random times, so many in a second on average.
func poisson(random *rand.Rand, n int, rate float64) []Arrival {
	trace := make([]Arrival, n)
	at := 0.0
	for i := range trace {
		at += random.ExpFloat64() / rate
		trace[i].At = time.Duration(at * float64(time.Second))
	}
	return trace
}

// meanWait returns the mean time in the queue, in seconds.
func meanWait(r *Result, trace []Arrival) float64 {
	sum, n := time.Duration(0), 0
	for _, b := range r.Batches {
		for _, i := range b.Members {
			sum += b.Start - trace[i].At
			n++
		}
	}
	return sum.Seconds() / float64(n)
}

// erlangC is the probability that an arrival at c servers under a load of a has to wait.
func erlangC(c int, a float64) float64 {
	term, sum := 1.0, 1.0 // a^k/k!
	for k := 1; k < c; k++ {
		term *= a / float64(k)
		sum += term
	}
	last := term * a / float64(c) * float64(c) / (float64(c) - a)
	return last / (sum + last)
}

// TestErlangC checks the formula itself: with one server it is the load, and two values are
// from tables.
func TestErlangC(t *testing.T) {
	t.Parallel()
	require.InDelta(t, 0.7, erlangC(1, 0.7), 1e-12)
	require.InDelta(t, 1.0/3, erlangC(2, 1), 1e-12)
	require.InDelta(t, 0.4444, erlangC(3, 2), 1e-4)
}

// TestTheory compares the queue with the results of queueing theory for random arrivals: one
// instance with a fixed time (M/D/1, the formula of Pollaczek and Khinchine) and instances
// with random times (M/M/c, Erlang's formula).
func TestTheory(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: millions of requests on one goroutine")
	}
	t.Parallel()
	const service, n = 0.010, 400_000
	for _, load := range []float64{0.3, 0.6, 0.9} {
		random := rand.New(rand.NewPCG(7, uint64(load*10)))
		fixed := Model{Config: &inferencepb.ModelConfig{}, Cost: Linear(10*time.Millisecond, 0)}
		trace := poisson(random, n, load/service)
		want := load * service / (2 * (1 - load))
		require.InEpsilon(t, want, meanWait(Run(fixed, trace), trace), 0.04, "M/D/1 at %g", load)

		for _, c := range []int{1, 2, 5} {
			m := Model{Config: &inferencepb.ModelConfig{}, Instances: c, Cost: func(int) time.Duration {
				return time.Duration(random.ExpFloat64() * service * float64(time.Second))
			}}
			trace := poisson(random, n, load*float64(c)/service)
			want := erlangC(c, load*float64(c)) * service / (float64(c) * (1 - load))
			require.InEpsilon(t, want, meanWait(Run(m, trace), trace), 0.08, "M/M/%d at %g", c, load)
		}
	}
}
