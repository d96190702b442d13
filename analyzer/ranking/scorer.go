// Package ranking compares the measurements of trials by the goals of their models: scores, gains,
// violated constraints, and the best variants.
package ranking

import (
	"maps"
	"math"
	"slices"

	"triton/analyzer/metric"
	"triton/analyzer/trial"
)

// Scorer compares measurements of the same models. It is safe for use by several goroutines.
type Scorer struct {
	models []model
}

type model struct {
	weight      float64 // the weights of all models add up to 1
	objectives  []objective
	constraints []bound
}

type objective struct {
	metric.Spec
	weight float64 // the weights of a model's objectives add up to 1
}

type bound struct {
	metric.Spec
	metric.Constraint
}

// New returns a scorer for models with these goals, which are in the order of the members of the
// trials. A goal without objectives has the default ones. Tags that are no metrics are ignored.
func New(goals ...metric.Goal) Scorer {
	var s Scorer
	weights := make([]int, len(goals))
	for i, g := range goals {
		weights[i] = g.Weight
	}
	for i, weight := range metric.Shares(weights) {
		g := goals[i]
		if len(g.Objectives) == 0 {
			g.Objectives = metric.DefaultObjectives()
		}
		m := model{weight: weight}
		shares := g.Weights()
		for j, o := range g.Objectives {
			if spec, err := metric.Find(o.Tag); err == nil {
				m.objectives = append(m.objectives, objective{spec, shares[j]})
			}
		}
		for _, c := range g.Constraints {
			if spec, err := metric.Find(c.Tag); err == nil {
				m.constraints = append(m.constraints, bound{spec, c})
			}
		}
		s.models = append(s.models, m)
	}
	return s
}

// Value returns a metric of one member of a measurement. A metric of devices that was not measured
// for the member is the sum or mean over the devices.
func Value(m *trial.Measurement, member int, tag metric.Tag) (float64, bool) {
	spec, err := metric.Find(tag)
	if err != nil {
		return 0, false
	}
	return value(m, member, spec)
}

func value(m *trial.Measurement, member int, spec metric.Spec) (float64, bool) {
	if m == nil {
		return 0, false
	}
	if member < len(m.Members) {
		if v, ok := m.Members[member][spec.Tag]; ok && !math.IsNaN(v) {
			return v, true
		}
	}
	if !spec.GPU {
		return 0, false
	}
	devices := perGPU(m, spec.Tag)
	return spec.Models.Combine(devices), len(devices) > 0
}

// perGPU returns a metric of each device that has it, in the order of the UUIDs, so that sums are
// the same each time.
func perGPU(m *trial.Measurement, tag metric.Tag) []float64 {
	var all []float64
	for _, uuid := range slices.Sorted(maps.Keys(m.GPUs)) {
		if v, ok := m.GPUs[uuid][tag]; ok && !math.IsNaN(v) {
			all = append(all, v)
		}
	}
	return all
}

// Score is positive if a is better than b, negative if it is worse, and 0 if they are equal. Each
// model adds its weighted differences; what was not measured in one of them loses.
func (s Scorer) Score(a, b *trial.Measurement) float64 {
	return s.weigh(a, b, 1, metric.Spec.Difference)
}

// Gain returns by how many percent a is better than b.
func (s Scorer) Gain(a, b *trial.Measurement) float64 {
	return s.weigh(a, b, 100, metric.Spec.Gain)
}

// weigh adds up what compare says of all objectives of all models. A metric that only a or only b
// has makes its model's sum whole or -whole, one that none has makes it 0.
func (s Scorer) weigh(a, b *trial.Measurement, whole float64, compare func(metric.Spec, float64, float64) float64) float64 {
	var sum float64
	for i, m := range s.models {
		var ofModel float64
	objectives:
		for _, o := range m.objectives {
			x, inA := value(a, i, o.Spec)
			y, inB := value(b, i, o.Spec)
			switch {
			case inA && inB:
				ofModel += o.weight * compare(o.Spec, x, y)
				continue
			case inA:
				ofModel = whole
			case inB:
				ofModel = -whole
			default:
				ofModel = 0
			}
			break objectives
		}
		sum += m.weight * ofModel
	}
	return sum
}

// Passes reports whether a measurement satisfies the constraints of all models. A metric that was
// not measured violates none.
func (s Scorer) Passes(m *trial.Measurement) bool { return s.FailurePercent(m) == 0 }

// FailurePercent returns by how many percent a measurement violates its constraints, added up over
// the violated ones.
func (s Scorer) FailurePercent(m *trial.Measurement) float64 {
	if m == nil {
		return 0
	}
	var sum float64
	for i, of := range s.models {
		for _, c := range of.constraints {
			if v, ok := value(m, i, c.Spec); ok {
				sum += c.Failure(v)
			}
			if c.MaxPerGPU != nil {
				for _, v := range perGPU(m, c.Spec.Tag) {
					sum += c.FailurePerGPU(v)
				}
			}
		}
	}
	return sum * 100
}
