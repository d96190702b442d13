package search

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sort"

	"triton/analyzer/trial"
)

// forecast is what the planner expects of a point: medians, and the standard deviations of their
// logarithms.
type forecast struct {
	throughput, p99 float64
	spread, tail    float64 // of throughput; of p99 for a given throughput
}

// belief is a model of the server with the probability that it holds, given the measurements.
type belief struct {
	predict     func(*point) (throughput, p99 float64)
	probability float64
	weights     []float64 // of the residuals of throughput in a prediction
}

// forecaster predicts points from the measured ones. What is not known after few measurements,
// such as how instances slow each other down, shows as disagreement between the models.
type forecaster struct {
	seen    []observation
	beliefs []belief
	// The processes of the residuals of throughput, and of those of p99 once the former are
	// taken into account.
	speed, tail *process
	tailWeights []float64
	buffer      []float64
}

// The standard deviations to choose from: of the residuals, and of the noise between runs. Even a
// model that fits all measured points may be wrong elsewhere, hence the least amplitude.
var (
	amplitudes  = []float64{0.15, 0.25, 0.4}
	speedNoises = []float64{0.005, 0.03, 0.07}
	tailNoises  = []float64{0.02, 0.06, 0.15}
)

// Models that are much less probable than the most probable one are left out.
const (
	leastProbable = 0.02
	mostBeliefs   = 24
)

// newForecaster learns from the measured points. predict may be nil.
func newForecaster(seen []observation, predict func(trial.Proposal) (throughput, p99 float64, ok bool)) *forecaster {
	f := &forecaster{seen: seen, buffer: make([]float64, len(seen))}
	for _, c := range costs(seen) {
		f.beliefs = append(f.beliefs, belief{predict: c.predict})
	}
	if predict != nil {
		f.beliefs = append(f.beliefs, belief{predict: func(p *point) (float64, float64) {
			if x, p99, ok := predict(p.proposal()); ok && x > 0 && p99 > 0 {
				return x, p99
			}
			return f.beliefs[0].predict(p)
		}})
	}
	residuals := make([][]float64, len(f.beliefs))
	for i, b := range f.beliefs {
		residuals[i] = make([]float64, len(seen))
		for k, o := range seen {
			x, _ := b.predict(o.point)
			residuals[i][k] = math.Log(o.throughput) - math.Log(x)
		}
	}
	f.speed = likeliest(seen, residuals, speedNoises)
	f.believe(residuals)
	tail := make([]float64, len(seen))
	for k, o := range seen {
		x, p99 := f.beliefs[0].predict(o.point)
		// A closed loop that is faster than expected waits less, by the same factor.
		tail[k] = math.Log(o.p99*o.throughput) - math.Log(p99*x)
	}
	base, counted := 0.0, 0.0
	for k, o := range seen {
		if !o.overloaded() {
			base += tail[k]
			counted++
		}
	}
	base /= max(counted, 1)
	for k, o := range seen {
		tail[k] -= base
		if o.overloaded() {
			tail[k] = 0
		}
	}
	f.tail = likeliest(seen, [][]float64{tail}, tailNoises)
	f.tailWeights = f.tail.solve(tail)
	for i, b := range f.beliefs {
		f.beliefs[i].predict = func(p *point) (float64, float64) {
			x, p99 := b.predict(p)
			return x, p99 * math.Exp(base)
		}
	}
	return f
}

// believe keeps the models that are probable under the process.
func (f *forecaster) believe(residuals [][]float64) {
	likelihoods := make([]float64, len(residuals))
	for i, r := range residuals {
		likelihoods[i] = f.speed.likelihood(r)
	}
	most := slices.Max(likelihoods)
	var kept []belief
	for i, b := range f.beliefs {
		if b.probability = math.Exp(likelihoods[i] - most); b.probability >= leastProbable {
			b.weights = f.speed.solve(residuals[i])
			kept = append(kept, b)
		}
	}
	sort.SliceStable(kept, func(i, j int) bool { return cmp.Less(kept[j].probability, kept[i].probability) })
	f.beliefs = kept[:min(len(kept), mostBeliefs)]
	var total float64
	for _, b := range f.beliefs {
		total += b.probability
	}
	for i := range f.beliefs {
		f.beliefs[i].probability /= total
	}
}

func (f *forecaster) at(p *point) forecast {
	deviation := f.speed.at(p, f.buffer)
	var mean, square, p99 float64
	for _, b := range f.beliefs {
		x, l := b.predict(p)
		residual := dot(f.buffer, b.weights)
		speed := math.Log(x) + residual
		mean += b.probability * speed
		square += b.probability * speed * speed
		p99 += b.probability * (math.Log(l) - residual)
	}
	disagreement := max(0, square-mean*mean)
	tailDeviation := f.tail.at(p, f.buffer)
	return forecast{
		throughput: math.Exp(mean),
		p99:        math.Exp(p99 + dot(f.buffer, f.tailWeights)),
		spread:     math.Sqrt(deviation*deviation + disagreement),
		tail:       tailDeviation,
	}
}

// nearest returns the measured point whose result is the most alike.
func (f *forecaster) nearest(p *point) observation {
	best, most := f.seen[0], -1.0
	for _, o := range f.seen {
		if s := similar(o.point, p); s > most {
			best, most = o, s
		}
	}
	return best
}

// sketch is a measurement as it is expected: that of the nearest measured point with another
// throughput and other latencies.
type sketch struct {
	m    trial.Measurement
	base trial.Values
	p99  float64
}

func newSketch(o observation) *sketch {
	s := &sketch{m: *o.m, base: o.m.Members[0], p99: o.p99}
	s.m.Members = []trial.Values{maps.Clone(s.base)}
	return s
}

var latencies = []trial.Metric{trial.LatencyAvg, trial.LatencyP90, trial.LatencyP95, trial.LatencyP99}

func (s *sketch) with(throughput, p99 float64) *trial.Measurement {
	v := s.m.Members[0]
	v[trial.Throughput] = throughput
	for _, tag := range latencies {
		if old, ok := s.base[tag]; ok {
			v[tag] = old * p99 / s.p99
		}
	}
	return &s.m
}

// The nodes and weights with which a normal distribution is integrated.
var (
	fiveNodes   = []float64{0, 1.3556, -1.3556, 2.857, -2.857}
	fiveWeights = []float64{0.53333, 0.22208, 0.22208, 0.011257, 0.011257}
	three       = []float64{0, math.Sqrt(3), -math.Sqrt(3)}
	threeWeight = []float64{2. / 3, 1. / 6, 1. / 6}
)
