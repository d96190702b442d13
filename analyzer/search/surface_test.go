package search

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"triton/analyzer/trial"
)

// surface is a simulated server: the duration of a batch by a law, and a closed loop of clients
// through a batcher that runs what waits whenever an instance is free.
type surface struct {
	law    string
	seed   uint64
	batch  func(rows, busy float64) float64 // seconds
	serial float64                          // seconds of each request outside of the instances
	memory func(instances, maxBatch int) bool
	noise  float64 // of a measurement, on top of its precision
	budget float64 // of the 99th percentile of the latency, in ms
	known  map[[3]int][2]float64
}

// laws are the kinds of servers. The functions are deliberately not those of the planner.
var laws = []string{"cores", "gpu", "bandwidth", "noisy"}

func newSurface(seed uint64) *surface {
	r := rand.New(rand.NewPCG(seed, 1))
	between := func(a, b float64) float64 { return a * math.Pow(b/a, r.Float64()) }
	s := &surface{law: laws[seed%4], seed: seed, known: map[[3]int][2]float64{}}
	law := s.law
	if law == "noisy" {
		law, s.noise = laws[r.IntN(3)], 0.04
	}
	s.serial = between(1e-5, 1e-3)
	s.memory = func(int, int) bool { return true }
	switch law {
	case "cores":
		// Each instance runs on some threads of a machine with few cores; more threads than
		// cores cost time. Batches gain a little.
		cores, threads := between(2, 16), between(1, 8)
		fixed, row, power := between(1e-4, 3e-3), between(1e-4, 2e-2), 0.85+0.15*r.Float64()
		cost := 0.3 * r.Float64()
		s.batch = func(rows, busy float64) float64 {
			load := busy * threads / cores
			return (fixed + row*math.Pow(rows, power)) * max(1, load) * (1 + cost*max(0, math.Log2(load)))
		}
	case "gpu":
		// Small batches cost the same until the device is full; instances overlap a little.
		fixed, row, full := between(1e-3, 1e-2), between(5e-5, 1e-3), between(2, 48)
		overlap := 1 + 1.5*r.Float64()
		s.batch = func(rows, busy float64) float64 {
			speed := 1 + (overlap-1)*(1-math.Exp(1-busy))
			return (fixed + row*max(0, rows-full) + 0.1*row*rows) * busy / speed
		}
	case "bandwidth":
		// Rows beyond the cache slow down, instances share the memory, which is limited.
		fixed, row, cache := between(5e-4, 5e-3), between(1e-4, 3e-3), between(4, 96)
		share := between(1, 6)
		weights, activation, total := between(1, 4), between(0.01, 0.1), between(6, 40)
		s.batch = func(rows, busy float64) float64 {
			return (fixed + row*rows*(1+rows/cache*rows/cache/4)) * math.Hypot(1, busy/share)
		}
		s.memory = func(k, b int) bool { return float64(k)*(weights+activation*float64(b)) < total }
	}
	s.budget = math.Inf(1)
	if seed%5 != 0 {
		_, p99 := s.truth(2, 8, 16)
		s.budget = p99 * between(0.5, 4)
	}
	return s
}

// truth returns the throughput and the 99th percentile of the latency in ms, by simulation.
func (s *surface) truth(k, maxBatch, clients int) (throughput, p99 float64) {
	key := [3]int{k, maxBatch, clients}
	if v, ok := s.known[key]; ok {
		return v[0], v[1]
	}
	maxBatch = max(maxBatch, 1)
	r := rand.New(rand.NewPCG(s.seed, uint64(k)<<40|uint64(maxBatch)<<20|uint64(clients)))
	type running struct {
		end     float64
		started []float64 // times at which its requests were sent
	}
	var now float64
	var busy []running
	waiting := make([]float64, clients) // times at which the requests were sent
	for i := range waiting {
		waiting[i] = -s.serial * r.Float64()
	}
	slices.Sort(waiting)
	var latencies []float64
	var begin float64
	warm, want := 2*clients, 2*clients+max(400, 3*clients)
	for done := 0; done < want; {
		arrived, _ := slices.BinarySearchFunc(waiting, now, func(at, now float64) int {
			if at <= now {
				return -1
			}
			return 1
		})
		if arrived > 0 && len(busy) < k {
			n := min(arrived, maxBatch)
			b := running{started: slices.Clone(waiting[:n])}
			b.end = now + s.batch(float64(n), float64(len(busy)+1))*math.Exp(0.08*r.NormFloat64())
			busy, waiting = append(busy, b), append(waiting[:0], waiting[n:]...)
			continue
		}
		// The next event: a batch ends, or a request arrives.
		next, at := math.Inf(1), -1
		for i, b := range busy {
			if b.end < next {
				next, at = b.end, i
			}
		}
		if len(busy) < k && arrived < len(waiting) && waiting[arrived] < next {
			now = waiting[arrived]
			continue
		}
		now = next
		for _, sent := range busy[at].started {
			if done >= warm {
				latencies = append(latencies, now-sent+s.serial)
			}
			if done++; done == warm {
				begin = now
			}
			again := now + s.serial*(0.5+0.5*r.ExpFloat64())
			i, _ := slices.BinarySearch(waiting, again)
			waiting = slices.Insert(waiting, i, again)
		}
		busy = append(busy[:at], busy[at+1:]...)
	}
	slices.Sort(latencies)
	throughput = float64(len(latencies)) / (now - begin)
	p99 = 1000 * latencies[len(latencies)*99/100]
	s.known[key] = [2]float64{throughput, p99}
	return throughput, p99
}

var server = Model{Name: "m", MaxBatch: 8, Instances: 1}

// run measures a proposal: with noise that depends on the wanted precision, 5 % by default.
func (s *surface) run(p trial.Proposal) *trial.Result {
	m := p.Members[0]
	k, b := server.Shape(m.Patch)
	if !s.memory(k, b) {
		return &trial.Result{Proposal: p, Failure: &trial.Failure{Class: trial.OutOfGPUMemoryAtLoad}}
	}
	x, p99 := s.truth(k, b, m.Load.Concurrency)
	h := fnv.New64a()
	h.Write([]byte(proposalKey(p)))
	r := rand.New(rand.NewPCG(s.seed, h.Sum64()))
	precision := p.Precision
	if precision == 0 {
		precision = 0.05
	}
	precision = s.raced(p, x, precision)
	deviation := math.Hypot(precision/1.96, s.noise)
	factor := math.Exp(deviation * r.NormFloat64())
	measurement := measured(x*factor, p99/factor*math.Exp(deviation*r.NormFloat64()))
	measurement.Confidence = map[trial.Metric]trial.Interval{
		trial.Throughput: {Low: x * factor * (1 - precision), High: x * factor * (1 + precision)},
	}
	return &trial.Result{Proposal: p, Measurement: measurement}
}

// raced returns the precision at which a measurement ends that may end as soon as it is below its
// rival with confidence. It is looked at when it is half as long again, as in `triton perf`.
func (s *surface) raced(p trial.Proposal, x, precision float64) float64 {
	for wide := 0.2; p.Rival > 0 && wide > precision; wide /= math.Sqrt(1.5) {
		if x*(1+wide) < p.Rival {
			return wide
		}
	}
	return precision
}

// length is the duration of a measurement in measurements to a precision of 5 %: a first look takes
// a second, of about four.
func (s *surface) length(r *trial.Result) float64 {
	if r.Measurement == nil || r.Proposal.Precision == 0 {
		return 1
	}
	c := r.Measurement.Confidence[trial.Throughput]
	precision := (c.High - c.Low) / (c.High + c.Low)
	return max(0.25, (0.05/precision)*(0.05/precision))
}

// value returns the true throughput of a proposal, 0 if it misses the constraint by more than a
// tenth.
func (s *surface) value(p trial.Proposal) float64 {
	k, b := server.Shape(p.Members[0].Patch)
	if !s.memory(k, b) {
		return 0
	}
	x, p99 := s.truth(k, b, p.Members[0].Load.Concurrency)
	if p99 > 1.1*s.budget {
		return 0
	}
	return x
}

// best returns the highest true throughput within the constraint.
func (s *surface) best() float64 {
	var top float64
	for k := 1; k <= 5; k++ {
		for b := 1; b <= 128 && s.memory(k, b); b *= 2 {
			for c := 1.0; c <= 1024; c *= math.Sqrt2 {
				if x, p99 := s.truth(k, b, int(c)); p99 <= s.budget {
					top = max(top, x)
				}
			}
		}
	}
	return top
}
