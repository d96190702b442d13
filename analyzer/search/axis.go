package search

import (
	"strconv"

	"triton/analyzer/trial"
)

// Axis is a further dimension of the search. The planner starts at the first value, which is
// usually the empty patch, and tries the others around the best configuration.
type Axis struct {
	Name   string
	Values []trial.Patch // merged into the configuration; adjacent values have similar effects
}

// Delays is the axis of the dynamic batcher's queue delay.
func Delays(microseconds ...int) Axis {
	a := Axis{Name: "queue delay", Values: []trial.Patch{{}}}
	for _, n := range microseconds {
		a.Values = append(a.Values, withDelay(nil, n))
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
		a.Values = append(a.Values, trial.Patch{"parameters": map[string]any{
			"intra_op_thread_count": map[string]any{"string_value": strconv.Itoa(n)},
		}})
	}
	return a
}

// Cache is the axis of the response cache: off as configured, and on.
func Cache() Axis {
	return Axis{Name: "response cache", Values: []trial.Patch{{}, {"response_cache": map[string]any{"enable": true}}}}
}

// Buckets is the axis of the length buckets, whose alternatives are given in the form of the
// configuration, such as "64, 128". It is for inputs of different lengths.
func Buckets(lists ...string) Axis {
	a := Axis{Name: "length buckets", Values: []trial.Patch{{}}}
	for _, list := range lists {
		a.Values = append(a.Values, trial.Patch{"parameters": map[string]any{
			"length_buckets": map[string]any{"string_value": list},
		}})
	}
	return a
}
