package bench

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// LoadOptions are perf_analyzer's options for one model, by their long names without dashes.
type LoadOptions struct {
	values map[string][]string
	own    []string // names that Model Analyzer does not know, in the order of Set
}

// namedOption is an option with the text that Model Analyzer writes for it.
type namedOption struct{ name, option string }

// shortOptions has the options that Model Analyzer writes in short form, in its order.
var shortOptions = []namedOption{
	{"model-name", "-m"},
	{"model-version", "-x"},
	{"batch-size", "-b"},
	{"url", "-u"},
	{"protocol", "-i"},
	{"latency-report-file", "-f"},
	{"http-header", "-H"},
}

// verboseOptions has the options without values that come after the short ones.
var verboseOptions = []namedOption{
	{"verbose", "-v"},
	{"extra-verbose", "-v -v"},
	{"verbose-csv", "--verbose-csv"},
}

// longOptions has the other options in Model Analyzer's order.
var longOptions = strings.Fields(`service-kind model-signature-name async sync measurement-interval concurrency-range
	request-rate-range request-distribution request-intervals binary-search num-of-sequences
	latency-threshold max-threads stability-percentage max-trials percentile input-data shared-memory
	output-shared-memory-size shape sequence-length sequence-id-range string-length string-data
	measurement-mode measurement-request-count streaming grpc-compression-algorithm
	triton-server-directory model-repository ssl-grpc-use-ssl ssl-grpc-root-certifications-file
	ssl-grpc-private-key-file ssl-grpc-certificate-chain-file ssl-https-verify-peer
	ssl-https-verify-host ssl-https-ca-certificates-file ssl-https-client-certificate-type
	ssl-https-client-certificate-file ssl-https-private-key-type ssl-https-private-key-file
	collect-metrics metrics-url metrics-interval bls-composing-models`)

// switchOptions take no value; they are on if their value is "true".
var switchOptions = []string{"llm", "streaming", "async", "sync", "binary-search", "ssl-grpc-use-ssl", "collect-metrics"}

// loadNames are the options that set the load: only one of them is active.
var loadNames = []string{"concurrency-range", "request-rate-range", "request-intervals"}

// Set sets the values of an option; without values it removes the option.
func (o *LoadOptions) Set(name string, values ...string) {
	if o.values == nil {
		o.values = make(map[string][]string)
	}
	if slices.Contains(loadNames, name) {
		for _, l := range loadNames {
			delete(o.values, l)
		}
	}
	if len(values) == 0 {
		delete(o.values, name)
		return
	}
	o.values[name] = values
	if !knownOption(name) && !slices.Contains(o.own, name) {
		o.own = append(o.own, name)
	}
}

func knownOption(name string) bool {
	is := func(s namedOption) bool { return s.name == name }
	return slices.Contains(longOptions, name) || slices.ContainsFunc(shortOptions, is) || slices.ContainsFunc(verboseOptions, is)
}

// Get returns the last value of an option; empty if it is not set.
func (o LoadOptions) Get(name string) string {
	v := o.values[name]
	if len(v) == 0 {
		return ""
	}
	return v[len(v)-1]
}

// On reports whether an option without value is on.
func (o LoadOptions) On(name string) bool { return strings.EqualFold(o.Get(name), "true") }

// Precise reports whether the measurement ends with its confidence interval, and counts also if that is wider
// than was asked for.
func (o LoadOptions) Precise() bool { return o.Get("stop-when") != "" }

// Clone returns a copy.
func (o LoadOptions) Clone() LoadOptions {
	c := LoadOptions{values: make(map[string][]string, len(o.values)), own: slices.Clone(o.own)}
	for name, v := range o.values {
		c.values[name] = v
	}
	return c
}

// Args returns the command line: short options, verbose ones, long ones.
func (o LoadOptions) Args() []string {
	var args []string
	for _, s := range shortOptions {
		for _, v := range o.values[s.name] {
			args = append(args, s.option, v)
		}
	}
	for _, s := range verboseOptions {
		if v := o.Get(s.name); v != "" && !strings.EqualFold(v, "false") {
			args = append(args, strings.Fields(s.option)...)
		}
	}
	for _, name := range slices.Concat(longOptions, o.own) {
		if slices.Contains(switchOptions, name) {
			if o.On(name) {
				args = append(args, "--"+name)
			}
			continue
		}
		for _, v := range o.values[name] {
			args = append(args, "--"+name+"="+v)
		}
	}
	return args
}

// Representation returns the command line without what differs between runs of the same trial: the
// address of the server and the number of requests, which is adjusted to the model.
func (o LoadOptions) Representation() string {
	c := o.Clone()
	c.Set("url")
	c.Set("measurement-request-count")
	return strings.Join(c.Args(), " ")
}

// MarshalJSON writes the form of Model Analyzer's checkpoints.
func (o LoadOptions) MarshalJSON() ([]byte, error) {
	options, flags, rest := map[string]any{}, map[string]any{}, map[string]any{}
	for _, s := range shortOptions {
		options[s.option] = storedValue(o.values[s.name])
	}
	for _, s := range verboseOptions {
		flags[s.option] = nil
		if o.Get(s.name) != "" {
			flags[s.option] = s.option
		}
	}
	for _, name := range slices.Concat(longOptions, o.own) {
		rest[name] = storedValue(o.values[name])
	}
	return json.Marshal(map[string]any{"_args": rest, "_options": options, "_verbose": flags})
}

// storedValue returns the values of an option as Model Analyzer stores them: numbers where they are.
func storedValue(v []string) any {
	switch len(v) {
	case 0:
		return nil
	case 1:
		if n, err := strconv.Atoi(v[0]); err == nil {
			return n
		}
		return v[0]
	}
	return v
}

// UnmarshalJSON reads what MarshalJSON writes.
func (o *LoadOptions) UnmarshalJSON(text []byte) error {
	var stored struct {
		Args    map[string]any `json:"_args"`
		Options map[string]any `json:"_options"`
		Verbose map[string]any `json:"_verbose"`
	}
	if err := json.Unmarshal(text, &stored); err != nil {
		return err
	}
	*o = LoadOptions{}
	for _, s := range shortOptions {
		o.Set(s.name, storedTexts(stored.Options[s.option])...)
	}
	for _, s := range verboseOptions {
		if stored.Verbose[s.option] != nil {
			o.Set(s.name, "true")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(stored.Args)) {
		if v := storedTexts(stored.Args[name]); len(v) > 0 {
			o.Set(name, v...)
		}
	}
	return nil
}

func storedTexts(v any) []string {
	switch v := v.(type) {
	case nil:
		return nil
	case float64:
		return []string{strconv.FormatFloat(v, 'f', -1, 64)}
	case []any:
		var all []string
		for _, e := range v {
			all = append(all, storedTexts(e)...)
		}
		return all
	}
	return []string{fmt.Sprint(v)}
}
