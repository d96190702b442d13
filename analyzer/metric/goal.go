package metric

// Objective is a metric to optimize with its weight, which is at least 1.
type Objective struct {
	Tag    Tag
	Weight int
}

// Constraint bounds a metric. A nil bound is none.
type Constraint struct {
	Tag      Tag
	Min, Max *float64
	// MaxPerGPU bounds the metric of every single device, where Max bounds their sum or mean.
	MaxPerGPU *float64
}

// Goal is what one model is optimized for.
type Goal struct {
	Objectives  []Objective
	Constraints []Constraint
	Weight      int // among models that are profiled at the same time; at least 1
}
