// The search that plans each measurement: it learns a cost model of the server
// from what was measured, predicts every other configuration and how uncertain the prediction is,
// and measures the one with the largest expected gain. It ends when no gain is worth a measurement.
// It searches the configuration of one model without composing models.

package search

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"

	"triton/analyzer/trial"
)

// PlannerOptions configure the search.
type PlannerOptions struct {
	MaxTrials int     // 0: 40
	MinGain   float64 // the relative gain that is worth a measurement; 0: 0.01
	Axes      []Axis  // further dimensions
	// Predict returns the expected throughput in rows per second and the 99th percentile of the
	// latency, or false if it cannot tell; nil: the built-in cost model.
	Predict func(trial.Proposal) (throughput, p99ms float64, ok bool)
}

const (
	defaultTrials = 40
	defaultGain   = 0.01
	// A server that failed this often is left alone, whatever the load.
	maxFailures = 2
	// The least probability of meeting the constraints that is worth a measurement while no
	// measurement meets them.
	minChance = 0.02
)

// Measurements may end at a precision between these limits: the closer a configuration is expected
// to be to the best, the more precisely it is measured.
const (
	finePrecision   = 0.03
	coarsePrecision = 0.05
)

// plannerAlgorithm returns the search over a space.
func plannerAlgorithm(s Space, o PlannerOptions) (algorithm, error) {
	if len(s.Models) != 1 || s.Composing() {
		return nil, fmt.Errorf("the planned search takes one model without composing models")
	}
	o.MaxTrials = cmp.Or(o.MaxTrials, defaultTrials)
	o.MinGain = cmp.Or(o.MinGain, defaultGain)
	return func(t *measurer) string {
		p := &plan{measurer: t, PlannerOptions: o, grid: newGrid(s, o.Axes), failures: map[string]int{}}
		return p.run()
	}, nil
}

type plan struct {
	*measurer
	PlannerOptions
	grid     *grid
	seen     []observation
	best     *observation   // nil until something is measured
	failures map[string]int // by configuration of the server
	tooLarge []*point       // ran out of memory
	runs     int
}

func (p *plan) run() string {
	for _, anchor := range p.anchors() {
		if p.runs >= p.MaxTrials {
			break
		}
		if !p.measurePoint(anchor(), coarsePrecision) {
			return ""
		}
	}
	for p.runs < p.MaxTrials {
		next, gain, precision := p.next()
		if next == nil {
			return p.ended(gain)
		}
		p.Noticef("Next: %s, expected gain %.1f %%", next, 100*gain)
		if !p.measurePoint(next, precision) {
			return ""
		}
	}
	return fmt.Sprintf("the maximum of %d measurements is reached", p.MaxTrials)
}

// anchors returns the first points: the user's configuration, one request at a time, full
// batches on one instance, and several instances. They tell apart what the cost model fits.
func (p *plan) anchors() []func() *point {
	g := p.grid
	least := g.space.Instances.Min
	batch := min(g.space.ModelBatch.Max, max(16, g.space.ModelBatch.Min))
	if !g.model.Batching() {
		batch = 1
	}
	several := min(g.space.Instances.Max, max(4, least))
	near := func(k, b, load int) func() *point {
		return func() *point {
			if g.space.UseRequestRate && len(p.seen) > 0 && load > 1 {
				// More than the instances can answer, judging by the latency of a request.
				fastest := slices.MinFunc(p.seen, func(a, b observation) int { return cmp.Compare(a.p99, b.p99) })
				load = int(min(1e9, float64(k*b)*1000/fastest.p99))
			}
			return p.nearest(k, b, max(load, 1))
		}
	}
	return []func() *point{
		func() *point {
			return g.point(nil, nil, g.defaultLoad())
		},
		near(least, g.space.ModelBatch.Min, 1),
		near(least, batch, 2*batch*least),
		near(several, batch, 2*batch*several),
	}
}

// nearest returns the point worth trying that is nearest to a shape and a load, nil if there is none.
func (p *plan) nearest(instances, maxBatch, load int) *point {
	target := []float64{math.Log2(float64(instances)), math.Log2(float64(maxBatch)), math.Log2(float64(load))}
	all := p.grid.around(nil)
	away := func(x *point) float64 {
		sum := 0.0
		for i, v := range target {
			sum += (x.at[i] - v) * (x.at[i] - v)
		}
		return sum
	}
	slices.SortStableFunc(all, func(a, b *point) int { return cmp.Compare(away(a), away(b)) })
	for _, x := range all {
		if p.worthTrying(x) {
			return x
		}
	}
	return nil
}

// worthTrying reports whether a point is open and the server of its configuration has not failed too often.
func (p *plan) worthTrying(x *point) bool {
	return p.failures[serverKey(x.proposal())] < maxFailures && p.Open(x.proposal())
}

// measurePoint runs a point, nil for none, and learns from it.
func (p *plan) measurePoint(x *point, precision float64) (ok bool) {
	if x == nil || !p.Open(x.proposal()) {
		return true
	}
	proposal := x.proposal()
	proposal.Precision, proposal.Rival = precision, p.rival()
	p.runs++
	r, ok := p.Run(proposal)
	if !ok {
		return false
	}
	if r.Failure != nil && r.Failure.Class.Memory() {
		p.tooLarge = append(p.tooLarge, x)
	}
	o, measured := observe(x, r.Measurement)
	if !measured {
		p.failures[serverKey(proposal)]++
		return true
	}
	p.seen = append(p.seen, o)
	if p.best == nil || p.Better(o.m, p.best.m) {
		p.best = &o
	}
	return true
}

// observe reads a measurement. One without requests is none.
func observe(x *point, m *trial.Measurement) (observation, bool) {
	if m == nil || len(m.Members) == 0 {
		return observation{}, false
	}
	o := observation{point: x, m: m, throughput: m.Throughput(), p99: m.Members[0][trial.LatencyP99], noise: 0.01}
	if !(o.throughput > 0) || math.IsInf(o.throughput, 0) {
		return observation{}, false
	}
	if !(o.p99 > 0) || math.IsInf(o.p99, 0) {
		o.p99 = 1000 * loadValue(x.Load) * float64(max(x.Load.Batch, 1)) / o.throughput
	}
	if c, known := m.Confidence[trial.Throughput]; known && c.High > c.Low {
		o.noise = max(0.002, min(0.5, (c.High-c.Low)/2/1.96/o.throughput))
	}
	return o, true
}

// next returns the point with the largest expected gain and how precisely to measure it, or nil if
// no gain is worth it.
func (p *plan) next() (best *point, gain, precision float64) {
	if len(p.seen) == 0 {
		return nil, 0, 0
	}
	f := newForecaster(p.seen, p.Predict)
	type offer struct {
		*point
		gain float64
	}
	var offers []offer
	least := p.MinGain
	if !p.Passes(p.best.m) {
		least = minChance
	}
	for _, x := range p.grid.around(p.best.point) {
		offers = append(offers, offer{x, p.expectedGain(f, x) * p.fitting(x)})
	}
	sort.SliceStable(offers, func(i, j int) bool { return cmp.Less(offers[j].gain, offers[i].gain) })
	for _, o := range offers {
		if o.gain < least {
			return nil, o.gain, 0
		}
		if p.worthTrying(o.point) {
			return o.point, o.gain, p.precision(f, o.point)
		}
	}
	return nil, 0, 0
}

// expectedGain returns the expected gain of a point over the best one. As long as nothing meets the
// constraints, it is the probability that the point does.
func (p *plan) expectedGain(f *forecaster, x *point) float64 {
	e := f.at(x)
	s := newSketch(f.nearest(x))
	passing := p.Passes(p.best.m)
	most := math.Inf(1) // no more is answered than is asked
	if rate := x.Load.RequestRate; rate > 0 {
		most = float64(rate * max(x.Load.Batch, 1))
	}
	at := func(z, y float64) *trial.Measurement {
		return s.with(min(most, e.throughput*math.Exp(e.spread*z)), e.p99*math.Exp(e.tail*y-e.spread*z))
	}
	if passing && p.Judge.Score(at(fiveNodes[3], three[2]), p.best.m) <= 0 {
		return 0 // not even with luck
	}
	var sum float64
	for i, z := range fiveNodes {
		for k, y := range three {
			m := at(z, y)
			if !p.Passes(m) {
				continue
			}
			worth := 1.0
			if passing {
				worth = max(0, p.Judge.Score(m, p.best.m))
			}
			sum += fiveWeights[i] * threeWeight[k] * worth
		}
	}
	return sum
}

// batchShare is how much less a doubling of the batch is expected to need than a doubling of the
// instances, which hold the weights of the model.
const batchShare = 0.3

// fitting returns the probability that a point fits the memory: from its distances, in doublings,
// to what fitted and to what did not.
func (p *plan) fitting(x *point) float64 {
	if len(p.tooLarge) == 0 {
		return 1
	}
	below := math.Inf(1)
	for _, f := range p.tooLarge {
		below = min(below, max(f.at[0]-x.at[0], batchShare*(f.at[1]-x.at[1]), 0))
	}
	above := x.at[0] + batchShare*x.at[1]
	for _, o := range p.seen {
		above = min(above, max(0, x.at[0]-o.point.at[0])+batchShare*max(0, x.at[1]-o.point.at[1]))
	}
	if above <= 0 {
		return 1
	}
	return below / (below + above)
}

// precision returns how precisely to measure a point: half of the expected distance to the best.
func (p *plan) precision(f *forecaster, x *point) float64 {
	e := f.at(x)
	distance := math.Abs(p.Judge.Score(newSketch(f.nearest(x)).with(e.throughput, e.p99), p.best.m))
	return max(finePrecision, min(coarsePrecision, distance/2))
}

// ended says why the search ends without a further point.
func (p *plan) ended(gain float64) string {
	switch {
	case p.best == nil:
		return fmt.Sprintf("none of %d trials could be measured", p.runs)
	case !p.Passes(p.best.m):
		return fmt.Sprintf("no configuration meets the constraints, and no other is expected to: "+
			"the most promising one would with a probability of %.1f %%", 100*gain)
	}
	return fmt.Sprintf("the expected gain of any other configuration is below %.3g %%: at most %.2g %%", 100*p.MinGain, 100*gain)
}
