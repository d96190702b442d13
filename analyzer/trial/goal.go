package trial

// Objective is a metric to optimize with its weight, which is at least 1.
type Objective struct {
	Tag    Metric
	Weight int
}

// Constraint bounds a metric. A nil bound is none.
type Constraint struct {
	Tag      Metric
	Min, Max *float64
	// MaxPerGPU bounds the metric of every single device, where Max bounds their sum or mean.
	MaxPerGPU *float64
}

// Violation returns by how much a value violates Min and Max, relative to the bound: 0.5 is half as
// much again as Max allows, or half of what Min asks for. It is 0 within the bounds.
func (c Constraint) Violation(value float64) float64 {
	switch {
	case c.Min != nil && value < *c.Min:
		return (*c.Min - value) / scale(*c.Min)
	case c.Max != nil && value > *c.Max:
		return (value - *c.Max) / scale(*c.Max)
	}
	return 0
}

// ViolationPerGPU is Violation of the value of a single device for MaxPerGPU.
func (c Constraint) ViolationPerGPU(value float64) float64 {
	return Constraint{Max: c.MaxPerGPU}.Violation(value)
}

// scale returns the size of a bound. Distances from a bound of 0 are absolute.
func scale(bound float64) float64 {
	switch {
	case bound < 0:
		return -bound
	case bound == 0:
		return 1
	}
	return bound
}

// Goal is what one model is optimized for.
type Goal struct {
	Objectives  []Objective
	Constraints []Constraint
	Weight      int // among models that are profiled at the same time; at least 1
}

// DefaultObjectives returns the objectives of a model without any: throughput alone.
func DefaultObjectives() []Objective { return []Objective{{Throughput, 10}} }

// Weights returns the weights of the objectives as shares of their sum.
func (g Goal) Weights() []float64 {
	weights := make([]int, len(g.Objectives))
	for i, o := range g.Objectives {
		weights[i] = o.Weight
	}
	return weightShares(weights)
}

// weightShares returns weights as shares of their sum. Weights below 1 count as 1.
func weightShares(weights []int) []float64 {
	var sum float64
	for _, w := range weights {
		sum += float64(max(1, w))
	}
	shares := make([]float64, len(weights))
	for i, w := range weights {
		shares[i] = float64(max(1, w)) / sum
	}
	return shares
}

// Gain returns by how many percent a is better than b; it is negative if a is worse.
func (s MetricSpec) Gain(a, b float64) float64 {
	if a == b {
		return 0
	}
	better, base := a-b, b
	if !s.Higher {
		better, base = b-a, a
	}
	if base == 0 { // no share of nothing: all or none of it
		if better > 0 {
			return 100
		}
		return -100
	}
	return better / base * 100
}

// Difference returns by how much a is better than b, relative to their mean: the term of one
// objective in a score. It is 0 where the mean is.
func (s MetricSpec) Difference(a, b float64) float64 {
	mean := (a + b) / 2
	if mean == 0 {
		return 0
	}
	if !s.Higher {
		a, b = b, a
	}
	return (a - b) / mean
}

// Combine returns the sum or the mean of values; 0 of none.
func (f Fold) Combine(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	if f == Mean && len(values) > 0 {
		sum /= float64(len(values))
	}
	return sum
}
