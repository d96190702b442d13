package search

import (
	"math"
	"math/bits"

	"triton/analyzer/trial"
)

// parameter is one parameter of the search: whole numbers from low to high, or a choice of a list.
type parameter struct {
	list        []int // the values of a choice
	low, high   int
	exponential bool // the value is two to the number
	limits      Range
}

func (d *parameter) count() int {
	if d.list != nil {
		return len(d.list)
	}
	return d.high - d.low + 1
}

// value returns the value of a choice, or of a number.
func (d *parameter) value(n int) int {
	switch {
	case d.list != nil:
		return d.list[n]
	case d.exponential:
		return d.limits.Clamp(1 << n)
	}
	return n
}

func choice(list []int) *parameter {
	if len(list) == 0 {
		return nil
	}
	return &parameter{list: list, high: len(list) - 1}
}

func linear(r Range) *parameter { return &parameter{low: r.Min, high: r.Max, limits: r} }

func exponential(r Range) *parameter {
	return &parameter{low: bits.Len(uint(r.Min)) - 1, high: bits.Len(uint(r.Max)) - 1, exponential: true, limits: r}
}

// part is a model with its parameters, nil for those that it does not have.
type part struct {
	Model
	fixed trial.Patch

	rows, batch, instances, concurrency, delay, rate *parameter

	composing []*part
}

func (p *part) dimensions() []*parameter {
	return []*parameter{p.rows, p.batch, p.instances, p.concurrency, p.delay, p.rate}
}

// parametersOf returns the parameters of all models in their order.
func parametersOf(parts []*part) []*parameter {
	var out []*parameter
	for _, p := range parts {
		for _, d := range p.dimensions() {
			if d != nil {
				out = append(out, d)
			}
		}
		out = append(out, parametersOf(p.composing)...)
	}
	return out
}

func partsOf(s Space, formula bool) ([]*part, error) {
	var parts []*part
	for _, m := range s.Models {
		p, err := partOf(s, m)
		if err != nil {
			return nil, err
		}
		p.rows = choice(m.Batches)
		switch {
		case m.Load != nil || m.Intervals != "":
		case s.UseRequestRate && len(m.RequestRates) > 0:
			p.rate = choice(m.RequestRates)
		case s.UseRequestRate:
			p.rate = exponential(s.RequestRate)
		case formula:
		case len(m.Concurrency) > 0:
			p.concurrency = choice(m.Concurrency)
		default:
			p.concurrency = exponential(s.Concurrency)
		}
		for _, c := range m.Composing {
			cp, err := partOf(s, c)
			if err != nil {
				return nil, err
			}
			p.composing = append(p.composing, cp)
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// partOf returns the parameters of the configuration of a model.
func partOf(s Space, m Model) (*part, error) {
	fixed, err := m.Fixed(true)
	if err != nil {
		return nil, err
	}
	p := &part{Model: m, fixed: fixed}
	if m.Ensemble {
		return p, nil
	}
	p.batch = choice(m.BatchSizes())
	if p.batch == nil && m.Batching() && len(m.Composing) == 0 {
		p.batch = exponential(s.ModelBatch)
	}
	p.instances = choice(m.Counts())
	if p.instances == nil {
		p.instances = linear(s.Instances)
	}
	p.delay = choice(m.Delays())
	return p, nil
}

// reader hands out the values of a point in the order of the parameters.
type reader struct {
	point []int
}

func (r *reader) next(d *parameter) (int, bool) {
	if d == nil {
		return 0, false
	}
	n := r.point[0]
	r.point = r.point[1:]
	return d.value(n), true
}

// proposal returns the proposal of a point.
func (s *tpeSearch) proposal(point []int) trial.Proposal {
	r := &reader{point: point}
	var out trial.Proposal
	for _, p := range s.parts {
		out.Members = append(out.Members, s.member(p, r))
	}
	return out
}

func (s *tpeSearch) member(p *part, r *reader) trial.ProposedMember {
	m := trial.ProposedMember{Model: p.Name}
	rows, listed := r.next(p.rows)
	if !listed {
		rows = 1
	}
	var full int // rows that fill all instances
	var load int
	m.Patch, full, load = p.patch(r)
	for _, c := range p.composing {
		cm := trial.ProposedMember{Model: c.Name}
		var rows int
		cm.Patch, rows, _ = c.patch(r)
		full = min(full, rows)
		m.Composing = append(m.Composing, cm)
	}
	if p.Ensemble && p.Batching() && len(p.composing) > 0 {
		smallest := math.MaxInt
		for i, c := range p.composing {
			_, b := c.Shape(m.Composing[i].Patch)
			smallest = min(smallest, max(b, 1))
		}
		m.Patch = withBatch(m.Patch, smallest)
	}
	switch {
	case p.Load != nil:
		m.Load = *p.Load
		m.Load.Batch = rows
	case p.Intervals != "":
		m.Load = trial.Load{Intervals: p.Intervals, Batch: rows}
	case load > 0:
		m.Load = s.Space.Load(rows, load)
	default:
		m.Load = s.Space.DefaultLoad(p.Model, full, 1)
		m.Load.Batch = rows
	}
	return m
}

// patch reads the configuration of a model, and the load if it has one.
func (p *part) patch(r *reader) (patch trial.Patch, full, load int) {
	batch, batched := r.next(p.batch)
	instances, counted := r.next(p.instances)
	load, _ = r.next(p.concurrency)
	delay, delayed := r.next(p.delay)
	if rate, ok := r.next(p.rate); ok {
		load = rate
	}
	if !counted {
		return p.fixed, math.MaxInt, load
	}
	patch = p.Patch(p.fixed, instances, batch)
	if !batched {
		delete(patch, "max_batch_size")
	}
	if delayed {
		patch = withDelay(patch, delay)
	}
	_, b := p.Shape(patch)
	return patch, instances * max(b, 1), load
}
