// Package llm computes the metrics of language models from the requests of a level: time to
// first token, inter-token latency, throughput in tokens, and goodput. The definitions are
// genai-perf's; where it judges wrongly, the comments say what is different here.
package llm

import (
	"math"
	"slices"
)

// Request is one request with the responses that have text.
type Request struct {
	Session   string // empty: none
	Start     int64  // nanoseconds since the epoch, as all times
	End       int64  // of the last response with text; of the last one if none has text
	Responses []Response

	Input, Output Tokens
	Stream        bool // the responses came in a stream
}

// Response is a response with text, or several that came at one time.
type Response struct {
	Time   int64
	Text   string
	Chunks int // 1, or the number of those that came at that time
}

// Tokens is a number of tokens and where it comes from.
type Tokens struct {
	Count int
	From  Source
}

// Source is how tokens were counted.
type Source string

// The sources. A client without the model's tokenizer cannot count better than the last two.
const (
	Usage      Source = "usage"      // the server's own count
	IDs        Source = "token_ids"  // the elements of a tensor of token IDs
	Chunks     Source = "chunks"     // one token for each response of a stream that has text
	Characters Source = "characters" // one token for each four characters, rounded up
)

// charactersPerToken is a rule of thumb for English text.
const charactersPerToken = 4

// Metrics are the results of a level or of a session.
type Metrics struct {
	// PerRequest are the distributions over requests, in genai-perf's order.
	PerRequest []Distribution
	// Totals are the single figures, in genai-perf's order.
	Totals []Total
	// InputFrom and OutputFrom are how tokens were counted, each once.
	InputFrom, OutputFrom []Source
	// Silent is the number of requests without any text, which count only if all are silent,
	// as those for embeddings are.
	Silent   int
	Sessions []Session
}

// Session holds the metrics of the requests of one session.
type Session struct {
	ID string
	*Metrics
}

// Distribution is a metric with a value for each request.
type Distribution struct {
	Name, Unit string
	Values     Statistics
}

// Total is a metric of all requests together.
type Total struct {
	Name  string
	Unit  string // in a table
	JSON  string // unit in JSON files, where genai-perf has another one
	Value float64
}

// sample has the metrics of one request; NaN where there is none.
type sample struct {
	latency, first, second, between, perUser float64 // ns, and tokens per second
	input, output                            float64
}

func newSample(r *Request) sample {
	none := math.NaN()
	s := sample{latency: float64(r.End - r.Start), first: none, second: none, between: none, perUser: none, input: float64(r.Input.Count), output: float64(r.Output.Count)}
	if len(r.Responses) == 0 {
		s.output = none
		return s
	}
	s.first = float64(r.Responses[0].Time - r.Start)
	if len(r.Responses) < 2 {
		return s
	}
	s.second = float64(r.Responses[1].Time - r.Responses[0].Time)
	if r.Output.Count > 1 {
		s.between = math.Round((s.latency - s.first) / float64(r.Output.Count-1))
		if s.between > 0 {
			s.perUser = 1e9 / s.between
		}
	}
	return s
}

const ms = 1e6 // nanoseconds

// distributions are the metrics of a request, in the order of genai-perf's table. Those of
// streams are left out if no request is one.
var distributions = []struct {
	name, unit string
	scale      float64
	stream     bool
	of         func(sample) float64
}{
	{"time_to_first_token", "ms", ms, true, func(s sample) float64 { return s.first }},
	{"time_to_second_token", "ms", ms, true, func(s sample) float64 { return s.second }},
	{"request_latency", "ms", ms, false, func(s sample) float64 { return s.latency }},
	{"inter_token_latency", "ms", ms, true, func(s sample) float64 { return s.between }},
	{"output_token_throughput_per_user", "tokens/sec/user", 1, true, func(s sample) float64 { return s.perUser }},
	{"output_sequence_length", "tokens", 1, false, func(s sample) float64 { return s.output }},
	{"input_sequence_length", "tokens", 1, false, func(s sample) float64 { return s.input }},
}

// Compute returns the metrics of requests, and those of each session.
func Compute(requests []Request, goals []Objective) *Metrics {
	m := compute(requests, goals)
	var order []string
	of := map[string][]Request{}
	for _, r := range requests {
		if r.Session == "" {
			continue
		}
		if _, ok := of[r.Session]; !ok {
			order = append(order, r.Session)
		}
		of[r.Session] = append(of[r.Session], r)
	}
	for _, id := range order {
		m.Sessions = append(m.Sessions, Session{id, compute(of[id], goals)})
	}
	return m
}

func compute(all []Request, goals []Objective) *Metrics {
	m := &Metrics{}
	requests := slices.DeleteFunc(slices.Clone(all), func(r Request) bool { return len(r.Responses) == 0 })
	m.Silent = len(all) - len(requests)
	texts := len(requests) > 0
	if !texts {
		requests = all
	}
	if len(requests) == 0 {
		return m
	}
	samples := make([]sample, len(requests))
	first, last, stream := requests[0].Start, requests[0].End, false
	for i := range requests {
		r := &requests[i]
		samples[i] = newSample(r)
		first, last = min(first, r.Start), max(last, r.End)
		stream = stream || r.Stream
		if texts {
			m.InputFrom, m.OutputFrom = addSource(m.InputFrom, r.Input), addSource(m.OutputFrom, r.Output)
		}
	}
	for _, d := range distributions {
		if !texts && d.name != "request_latency" || d.stream && !stream {
			continue
		}
		var values []float64
		for _, s := range samples {
			if v := d.of(s); !math.IsNaN(v) {
				values = append(values, v/d.scale)
			}
		}
		if len(values) > 0 {
			m.PerRequest = append(m.PerRequest, Distribution{d.name, d.unit, statistics(values)})
		}
	}
	m.total(samples, float64(last-first)/1e9, goals, texts)
	return m
}

// total adds the metrics of all requests together, over a number of seconds.
func (m *Metrics) total(samples []sample, seconds float64, goals []Objective, texts bool) {
	rate := func(n float64) float64 {
		if seconds <= 0 {
			return 0
		}
		return n / seconds
	}
	if texts {
		tokens := 0.0
		for _, s := range samples {
			tokens += s.output
		}
		m.Totals = append(m.Totals, Total{"output_token_throughput", "tokens/sec", "tokens/sec", rate(tokens)})
	}
	m.Totals = append(m.Totals, Total{"request_throughput", "per sec", "requests/sec", rate(float64(len(samples)))})
	if len(goals) > 0 {
		good := 0
		for _, s := range samples {
			if meets(s, goals) {
				good++
			}
		}
		m.Totals = append(m.Totals, Total{"request_goodput", "per sec", "requests/sec", rate(float64(good))})
	}
	m.Totals = append(m.Totals, Total{"request_count", "count", "count", float64(len(samples))})
}

func addSource(list []Source, t Tokens) []Source {
	if t.From == "" || slices.Contains(list, t.From) {
		return list
	}
	return append(list, t.From)
}
