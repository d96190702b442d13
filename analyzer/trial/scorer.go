package trial

import (
	"maps"
	"math"
	"slices"
)

// Scorer compares measurements of the same models. It is safe for use by several goroutines.
type Scorer struct {
	models []scoredModel
}

type scoredModel struct {
	weight      float64 // the weights of all models add up to 1
	objectives  []scoredObjective
	constraints []scoredBound
}

type scoredObjective struct {
	MetricSpec
	weight float64 // the weights of a model's objectives add up to 1
}

type scoredBound struct {
	MetricSpec
	Constraint
}

// NewScorer returns a scorer for models with these goals, which are in the order of the members of the
// trials. A goal without objectives has the default ones. Tags that are no metrics are ignored.
func NewScorer(goals ...Goal) Scorer {
	var s Scorer
	weights := make([]int, len(goals))
	for i, g := range goals {
		weights[i] = g.Weight
	}
	for i, weight := range weightShares(weights) {
		g := goals[i]
		if len(g.Objectives) == 0 {
			g.Objectives = DefaultObjectives()
		}
		m := scoredModel{weight: weight}
		shares := g.Weights()
		for j, o := range g.Objectives {
			if spec, err := FindMetric(o.Tag); err == nil {
				m.objectives = append(m.objectives, scoredObjective{spec, shares[j]})
			}
		}
		for _, c := range g.Constraints {
			if spec, err := FindMetric(c.Tag); err == nil {
				m.constraints = append(m.constraints, scoredBound{spec, c})
			}
		}
		s.models = append(s.models, m)
	}
	return s
}

// MetricOf returns a metric of one member of a measurement. A metric of devices that was not measured
// for the member is the sum or mean over the devices.
func MetricOf(m *Measurement, member int, tag Metric) (float64, bool) {
	spec, err := FindMetric(tag)
	if err != nil {
		return 0, false
	}
	return metricOf(m, member, spec)
}

func metricOf(m *Measurement, member int, spec MetricSpec) (float64, bool) {
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
	devices := metricPerGPU(m, spec.Tag)
	return spec.Fold.Combine(devices), len(devices) > 0
}

// metricPerGPU returns a metric of each device that has it, in the order of the UUIDs, so that sums are
// the same each time.
func metricPerGPU(m *Measurement, tag Metric) []float64 {
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
func (s Scorer) Score(a, b *Measurement) float64 {
	return s.weightedSum(a, b, 1, MetricSpec.Difference)
}

// Gain returns by how many percent a is better than b.
func (s Scorer) Gain(a, b *Measurement) float64 {
	return s.weightedSum(a, b, 100, MetricSpec.Gain)
}

// weightedSum adds up what compare says of all objectives of all models. A metric that only a or only b
// has makes its model's sum whole or -whole, one that none has makes it 0.
func (s Scorer) weightedSum(a, b *Measurement, whole float64, compare func(MetricSpec, float64, float64) float64) float64 {
	var sum float64
	for i, m := range s.models {
		var ofModel float64
	objectives:
		for _, o := range m.objectives {
			x, inA := metricOf(a, i, o.MetricSpec)
			y, inB := metricOf(b, i, o.MetricSpec)
			switch {
			case inA && inB:
				ofModel += o.weight * compare(o.MetricSpec, x, y)
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
func (s Scorer) Passes(m *Measurement) bool { return s.ViolationPercent(m) == 0 }

// ViolationPercent returns by how many percent a measurement violates its constraints, added up over
// the violated ones.
func (s Scorer) ViolationPercent(m *Measurement) float64 {
	if m == nil {
		return 0
	}
	var sum float64
	for i, of := range s.models {
		for _, c := range of.constraints {
			if v, ok := metricOf(m, i, c.MetricSpec); ok {
				sum += c.Violation(v)
			}
			if c.MaxPerGPU != nil {
				for _, v := range metricPerGPU(m, c.MetricSpec.Tag) {
					sum += c.ViolationPerGPU(v)
				}
			}
		}
	}
	return sum * 100
}
