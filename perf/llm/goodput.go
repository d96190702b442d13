package llm

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Objective is a limit that a good request keeps: milliseconds that it does not exceed, or
// tokens per second that it reaches.
type Objective struct {
	Metric string
	Value  float64
}

// objectives are the metrics of a request that may have a limit.
var objectives = map[string]struct {
	of    func(sample) float64
	lower bool // the limit is a lower one
}{
	"request_latency":                  {of: func(s sample) float64 { return s.latency / ms }},
	"time_to_first_token":              {of: func(s sample) float64 { return s.first / ms }},
	"time_to_second_token":             {of: func(s sample) float64 { return s.second / ms }},
	"inter_token_latency":              {of: func(s sample) float64 { return s.between / ms }},
	"output_token_throughput_per_user": {of: func(s sample) float64 { return s.perUser }, lower: true},
}

// ParseObjectives parses metric:value pairs, separated by blanks or commas.
func ParseObjectives(text string) ([]Objective, error) {
	var all []Objective
	for _, pair := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' }) {
		name, value, _ := strings.Cut(pair, ":")
		v, err := strconv.ParseFloat(value, 64)
		if err != nil || math.IsNaN(v) || v < 0 {
			return nil, fmt.Errorf("%q is not <metric>:<value> with a value >= 0", pair)
		}
		if _, ok := objectives[name]; !ok {
			return nil, fmt.Errorf("%q is no metric of a request; use request_latency, time_to_first_token, time_to_second_token, inter_token_latency (in milliseconds) or output_token_throughput_per_user", name)
		}
		all = append(all, Objective{name, v})
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%q has no <metric>:<value>", text)
	}
	return all, nil
}

// meets reports whether a request keeps all limits. It keeps those of metrics that it does not
// have, such as the latency between tokens of an answer of one token. genai-perf instead pairs
// the values of different requests where some have none.
func meets(s sample, goals []Objective) bool {
	for _, g := range goals {
		o := objectives[g.Metric]
		v := o.of(s)
		if o.lower && v < g.Value || !o.lower && v > g.Value { // false for NaN
			return false
		}
	}
	return true
}
