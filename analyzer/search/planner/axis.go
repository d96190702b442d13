package planner

import (
	"strconv"

	"triton/analyzer/search/space"
	"triton/analyzer/trial"
)

// Axis is a further dimension of the search. The planner starts at the first value, which is
// usually the empty patch, and tries the others around the best configuration.
type Axis struct {
	Name   string
	Values []trial.Patch // merged into the configuration; adjacent values have similar effects
}

// Traits say which axes a model can have.
type Traits struct {
	DynamicBatcher bool     // may have one: it batches and has no sequence batcher
	Cores          int      // for the threads of a model that ONNX Runtime runs on the CPU; otherwise 0
	Cache          bool     // the server has a response cache
	Lengths        []string // lists of length buckets to try
}

// Axes returns the axes of a model.
func Axes(t Traits) []Axis {
	var axes []Axis
	if t.DynamicBatcher {
		axes = append(axes, Delays(100, 500, 2000))
	}
	if t.Cores > 1 {
		var counts []int
		for n := 1; n <= t.Cores; n *= 2 {
			counts = append(counts, n)
		}
		axes = append(axes, Threads(counts...))
	}
	if len(t.Lengths) > 0 {
		axes = append(axes, Buckets(t.Lengths...))
	}
	if t.Cache {
		axes = append(axes, Cache())
	}
	return axes
}

// Delays is the axis of the dynamic batcher's queue delay.
func Delays(microseconds ...int) Axis {
	a := Axis{Name: "queue delay", Values: []trial.Patch{{}}}
	for _, n := range microseconds {
		a.Values = append(a.Values, space.WithDelay(nil, n))
	}
	return a
}

// Preferred is the axis of the dynamic batcher's preferred batch size.
func Preferred(sizes ...int) Axis {
	a := Axis{Name: "preferred batch size", Values: []trial.Patch{{}}}
	for _, n := range sizes {
		a.Values = append(a.Values, trial.Patch{"dynamic_batching": map[string]any{"preferred_batch_size": []any{n}}})
	}
	return a
}

// Threads is the axis of ONNX Runtime's threads for one instance.
func Threads(counts ...int) Axis {
	a := Axis{Name: "threads", Values: []trial.Patch{{}}}
	for _, n := range counts {
		a.Values = append(a.Values, parameter("intra_op_thread_count", strconv.Itoa(n)))
	}
	return a
}

// Buckets is the axis of the lengths to which inputs are padded, such as "64, 128, 256".
func Buckets(lists ...string) Axis {
	a := Axis{Name: "length buckets", Values: []trial.Patch{{}}}
	for _, list := range lists {
		a.Values = append(a.Values, parameter("length_buckets", list))
	}
	return a
}

// Cache is the axis of the response cache: off as configured, and on.
func Cache() Axis {
	return Axis{Name: "response cache", Values: []trial.Patch{{}, {"response_cache": map[string]any{"enable": true}}}}
}

func parameter(name, value string) trial.Patch {
	return trial.Patch{"parameters": map[string]any{name: map[string]any{"string_value": value}}}
}
