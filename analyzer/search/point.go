package search

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"triton/analyzer/trial"
)

// point is one trial that the planner may propose.
type point struct {
	trial.ProposedMember
	instances, maxBatch int
	at                  []float64 // position for the distance between points
	axes                []int     // index of the value of each further axis
}

func (p *point) proposal() trial.Proposal {
	return trial.Proposal{Members: []trial.ProposedMember{p.ProposedMember}}
}

// String describes the point in log lines.
func (p *point) String() string {
	load := fmt.Sprintf("concurrency %d", p.Load.Concurrency)
	switch {
	case p.Load.RequestRate > 0:
		load = fmt.Sprintf("request rate %d", p.Load.RequestRate)
	case p.Load.Intervals != "":
		load = "intervals of " + p.Load.Intervals
	}
	return fmt.Sprintf("instances %d, max_batch_size %d, %s", p.instances, p.maxBatch, load)
}

// loadValue returns the value of the load axis.
func loadValue(l trial.Load) float64 { return float64(max(l.Concurrency, l.RequestRate, 1)) }

// grid is the space of one model: all its configurations, without the further axes.
type grid struct {
	space   Space
	model   Model
	axes    []Axis
	patches []trial.Patch
	rows    []int
}

func newGrid(s Space, axes []Axis) *grid {
	g := &grid{space: s, model: s.Models[0], axes: axes}
	g.rows = ascending(g.model.Batches)
	if len(g.rows) == 0 {
		g.rows = []int{1}
	}
	switch {
	case len(g.model.Patches) > 0:
		g.patches = g.model.Patches
	case s.Disabled:
		g.patches = []trial.Patch{nil}
	default:
		sizes := []int{0}
		if g.model.Batching() {
			sizes = s.ModelBatch.Doubling()
		}
		for _, k := range instanceCounts(s.Instances) {
			for _, b := range sizes {
				g.patches = append(g.patches, g.model.Patch(nil, k, b))
			}
		}
	}
	return g
}

// instanceCounts returns the instance counts to consider: all small ones, then steps of a fifth.
func instanceCounts(r Range) []int {
	var list []int
	for n := r.Min; n <= r.Max; n += max(1, n/5) {
		list = append(list, n)
	}
	if list[len(list)-1] != r.Max {
		list = append(list, r.Max)
	}
	return list
}

// defaultLoad returns the load for the user's configuration: two full batches for each instance, or
// the nearest load that the user lists.
func (g *grid) defaultLoad() trial.Load {
	load := g.space.DefaultLoad(g.model, g.model.Instances, g.model.MaxBatch)
	if g.model.Load != nil || g.model.Intervals != "" {
		return load
	}
	list := g.loads(nil)
	wanted := loadValue(load)
	nearest := slices.MinFunc(list, func(a, b int) int {
		return cmp.Compare(math.Abs(math.Log(float64(a)/wanted)), math.Abs(math.Log(float64(b)/wanted)))
	})
	return g.space.Load(g.rows[0], nearest)
}

// loads returns the load values to consider: those that the user lists, or steps of at most half a
// doubling, and finer steps around the values in near.
func (g *grid) loads(near []float64) []int {
	list := g.model.Concurrency
	if g.space.UseRequestRate {
		list = g.model.RequestRates
	}
	switch {
	case len(list) > 0:
		return ascending(list)
	case g.space.Disabled:
		return []int{1}
	}
	r := g.space.Values()
	for x := float64(r.Min); x < float64(r.Max); x *= math.Sqrt2 {
		list = append(list, int(math.Round(x)))
	}
	list = append(list, r.Max)
	for _, n := range near {
		for i := -3.0; i <= 3; i++ {
			list = append(list, r.Clamp(int(math.Round(n*math.Pow(2, i/8)))))
		}
	}
	return ascending(list)
}

// point returns the point of a configuration under a load. axes may be nil for the first values.
func (g *grid) point(base trial.Patch, axes []int, load trial.Load) *point {
	p := &point{axes: axes}
	if p.axes == nil {
		p.axes = make([]int, len(g.axes))
	}
	patch := base
	for i, v := range p.axes {
		if over := g.axes[i].Values[v]; len(over) > 0 {
			patch = mergePatches(patch, over)
		}
	}
	p.instances, p.maxBatch = g.model.Shape(patch)
	p.ProposedMember = trial.ProposedMember{Model: g.model.Name, Patch: patch, Load: load}
	p.at = []float64{
		math.Log2(float64(max(p.instances, 1))),
		math.Log2(float64(max(p.maxBatch, 1))),
		math.Log2(loadValue(load)),
		math.Log2(float64(max(load.Batch, 1))),
	}
	for _, v := range p.axes {
		p.at = append(p.at, float64(v))
	}
	return p
}

// around returns the points to consider when best is the best so far: every configuration with its
// values of the further axes, and near it those that differ in one of these axes.
func (g *grid) around(best *point) []*point {
	var near []float64
	axes := make([]int, len(g.axes))
	if best != nil {
		near, axes = append(near, loadValue(best.Load)), best.axes
	}
	var out []*point
	for _, patch := range g.patches {
		out = append(out, g.under(patch, axes, near)...)
	}
	if best == nil {
		return out
	}
	for i, a := range g.axes {
		for v := range a.Values {
			if v == axes[i] {
				continue
			}
			other := slices.Clone(axes)
			other[i] = v
			for _, patch := range g.patches {
				for _, p := range g.under(patch, other, near) {
					if math.Abs(p.at[0]-best.at[0])+math.Abs(p.at[1]-best.at[1]) <= 1 && math.Abs(p.at[2]-best.at[2]) <= 1 {
						out = append(out, p)
					}
				}
			}
		}
	}
	return out
}

// under returns the points of a configuration under its loads. Batches larger than all requests in
// flight are left out: they behave as the next smaller one.
func (g *grid) under(patch trial.Patch, axes []int, near []float64) []*point {
	var out []*point
	add := func(load trial.Load) {
		p := g.point(patch, axes, load)
		useful := 2*load.Concurrency*max(load.Batch, 1) > p.maxBatch
		if load.Concurrency == 0 || useful || p.maxBatch <= g.space.ModelBatch.Min || len(g.model.Patches) > 0 {
			out = append(out, p)
		}
	}
	for _, rows := range g.rows {
		switch {
		case g.model.Load != nil:
			load := *g.model.Load
			load.Batch = rows
			add(load)
		case g.model.Intervals != "":
			add(trial.Load{Batch: rows, Intervals: g.model.Intervals})
		default:
			for _, n := range g.loads(near) {
				add(g.space.Load(rows, n))
			}
		}
	}
	return out
}
