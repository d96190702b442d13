// Package trafficrules defines the document of traffic rules: which version or model answers the requests
// for a name. Servers read it from the parameter traffic_rules of a configuration and from the
// control API. The package reads and checks documents; server/traffic applies them.
package trafficrules

// Rules are the traffic rules of one name: a model, or an alias without a folder. A request that
// names a version is not subject to rules. For all others the first match decides, then the canary
// or the weights, then the default.
type Rules struct {
	// Default answers what nothing else decides, and what a target that is not ready should have
	// answered. Without it that is the stable version of the canary, or else the target with the
	// largest weight, or else the newest version.
	Default *Target  `json:"default,omitempty"`
	Match   []Match  `json:"match,omitempty"`
	Weights []Weight `json:"weights,omitempty"`
	// Sticky makes the choice by weights depend on a key of the request instead of chance.
	Sticky *Sticky `json:"sticky,omitempty"`
	Canary *Canary `json:"canary,omitempty"`
	Shadow *Shadow `json:"shadow,omitempty"`
}

// Target is what answers a request. Without a model it is a version of the name that the rules
// are for. Without a version it is the newest one, or, of another model, what the rules of that
// model choose.
type Target struct {
	Model   string `json:"model,omitempty"`
	Version string `json:"version,omitempty"`
}

// Match sends requests with a certain header or parameter to a target. Exactly one of Header and
// Parameter is set, and at most one of Exact, Prefix and Regex; without these any value matches.
type Match struct {
	// Name is the rule's name in metrics; empty: its position, from 0.
	Name      string  `json:"name,omitempty"`
	Header    string  `json:"header,omitempty"`
	Parameter string  `json:"parameter,omitempty"`
	Exact     *string `json:"exact,omitempty"`
	Prefix    *string `json:"prefix,omitempty"`
	Regex     *string `json:"regex,omitempty"` // of Go's package regexp; not anchored
	To        Target  `json:"to"`
}

// Weight is a target and its share of requests, relative to the other weights.
type Weight struct {
	Target
	Weight float64 `json:"weight"`
}

// Sticky says what the key of a request is. Exactly one field is set. A request without the key
// is sent by chance.
type Sticky struct {
	Header        string `json:"header,omitempty"`
	Parameter     string `json:"parameter,omitempty"`
	CorrelationID bool   `json:"correlation_id,omitempty"`
}

// Canary sends a growing share of requests to a target, and compares its errors and its latency
// with those of the stable target in the same time.
type Canary struct {
	Target
	Stable Target `json:"stable"`
	// Steps are the shares in percent; empty: 1, 5, 25, 50, 100.
	Steps []float64 `json:"steps,omitempty"`
	// StepSeconds is the minimum time of a step; 0: 300.
	StepSeconds float64 `json:"step_seconds,omitempty"`
	// MinSamples is the minimum number of requests to each of the two in a step; 0: 1000.
	MinSamples int `json:"min_samples,omitempty"`
	// Significance is the probability, for each step, to roll back a target that is not
	// worse; 0: 0.01.
	Significance float64 `json:"significance,omitempty"`
	// MaxErrorIncrease is how much larger the share of failed requests may be, from 0 to 1;
	// nil: 0.001.
	MaxErrorIncrease *float64 `json:"max_error_increase,omitempty"`
	// MaxP99Ratio is how many times longer the 99th percentile of latency may be; 0: 1.2.
	MaxP99Ratio float64 `json:"max_p99_ratio,omitempty"`
}

// Shadow copies a share of the answered requests to a target and compares the outputs.
type Shadow struct {
	Target
	// Percent is the share of requests that are copied.
	Percent float64 `json:"percent"`
	// MaxPending and MaxBytes bound the copies that wait or run; 0: 64, and 64 MiB. Further
	// copies are dropped.
	MaxPending int   `json:"max_pending,omitempty"`
	MaxBytes   int64 `json:"max_bytes,omitempty"`
	// TimeoutSeconds bounds a copied request; 0: 30.
	TimeoutSeconds float64 `json:"timeout_seconds,omitempty"`
	// Tolerances are the differences that are accepted, by data type such as FP32. Data types
	// that are not numbers with a fraction are compared exactly.
	Tolerances map[string]Tolerance `json:"tolerances,omitempty"`
	// NaNDiffers makes two NaN at the same place different.
	NaNDiffers bool `json:"nan_differs,omitempty"`
	// Diffs is the number of sampled differences that are kept; nil: 16.
	Diffs *int `json:"diffs,omitempty"`
	// HideContents keeps values and request ids out of the sampled differences.
	HideContents bool `json:"hide_contents,omitempty"`
}

// Tolerance accepts a value v in place of w if |v-w| <= ATol + RTol*|w|, where w is the value of
// the target that answered the client.
type Tolerance struct {
	RTol float64 `json:"rtol"`
	ATol float64 `json:"atol"`
}
