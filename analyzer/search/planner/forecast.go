package planner

import (
	"maps"
	"math"

	"triton/analyzer/metric"
	"triton/analyzer/trial"
)

// forecast is what the planner expects of a point: medians, and the standard deviations of their
// logarithms.
type forecast struct {
	throughput, p99 float64
	spread, tail    float64 // of throughput; of p99 for a given throughput
}

// forecaster predicts points from the measured ones.
type forecaster struct {
	seen    []observation
	model   func(*point) (throughput, p99 float64)
	process *process
	// The weights of the residuals: of throughput, and of p99 once the residual of throughput
	// is taken into account.
	speed, tail []float64
	buffer      []float64
}

// amplitudes are the standard deviations of the residuals to choose from. Even a model that fits
// all measured points may be wrong elsewhere, hence the least of them.
var amplitudes = []float64{0.06, 0.1, 0.17, 0.3, 0.5}

// newForecaster learns from the measured points. predict may be nil.
func newForecaster(seen []observation, predict func(trial.Proposal) (throughput, p99 float64, ok bool)) *forecaster {
	f := &forecaster{seen: seen, buffer: make([]float64, 2*len(seen))}
	c := fit(seen)
	f.model = func(p *point) (x, p99 float64) {
		if predict != nil {
			if x, p99, ok := predict(p.proposal()); ok && x > 0 && p99 > 0 {
				return x, p99
			}
		}
		return c.predict(p)
	}
	speed, tail := make([]float64, len(seen)), make([]float64, len(seen))
	for i, o := range seen {
		x, p99 := f.model(o.point)
		speed[i] = math.Log(o.throughput) - math.Log(x)
		// A closed loop that is faster than expected waits less, by the same factor.
		tail[i] = math.Log(o.p99) - math.Log(p99) + speed[i]
	}
	likely := math.Inf(-1)
	for _, a := range amplitudes {
		p := newProcess(seen, a)
		if l := p.likelihood(speed); f.process == nil || l > likely {
			f.process, likely = p, l
		}
	}
	f.speed, f.tail = f.process.solve(speed), f.process.solve(tail)
	return f
}

func (f *forecaster) at(p *point) forecast {
	x, p99 := f.model(p)
	covariance, deviation := f.process.at(p, f.buffer)
	speed, tail := dot(covariance, f.speed), dot(covariance, f.tail)
	return forecast{
		throughput: x * math.Exp(speed),
		p99:        p99 * math.Exp(tail-speed),
		spread:     deviation,
		tail:       max(deviation, 0.02),
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
	base metric.Values
	p99  float64
}

func newSketch(o observation) *sketch {
	s := &sketch{m: *o.m, base: o.m.Members[0], p99: o.p99}
	s.m.Members = []metric.Values{maps.Clone(s.base)}
	return s
}

var latencies = []metric.Tag{metric.LatencyAvg, metric.LatencyP90, metric.LatencyP95, metric.LatencyP99}

func (s *sketch) with(throughput, p99 float64) *trial.Measurement {
	v := s.m.Members[0]
	v[metric.Throughput] = throughput
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
