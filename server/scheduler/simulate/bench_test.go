package simulate_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"triton/pkg/inferencepb"
	"triton/server/scheduler/simulate"
)

// poisson are arrivals at random, so many a second on average.
func poisson(seed uint64, n int, perSecond float64) []simulate.Arrival {
	r := rand.New(rand.NewPCG(seed, 1))
	all := make([]simulate.Arrival, n)
	at := 0.0
	for i := range all {
		at += r.ExpFloat64() / perSecond * 1e9
		all[i] = simulate.Arrival{At: time.Duration(at), Rows: 1}
	}
	return all
}

// Arrivals per second of the simulator.
func BenchmarkRun(b *testing.B) {
	for name, d := range map[string]*inferencepb.ModelDynamicBatching{
		"delay=0": {}, "delay=1ms": {MaxQueueDelayMicroseconds: 1000},
	} {
		b.Run(name, func(b *testing.B) {
			cfg := batching(32, d)
			cfg.Input = nil
			m := simulate.Model{Config: cfg, Cost: simulate.Linear(time.Millisecond, 50*time.Microsecond)}
			trace := poisson(1, 100_000, 8000)
			b.ReportAllocs()
			for b.Loop() {
				simulate.Run(m, trace)
			}
			b.ReportMetric(float64(len(trace))*float64(b.N)/b.Elapsed().Seconds(), "arrivals/s")
		})
	}
}
