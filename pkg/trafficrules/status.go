package trafficrules

import "time"

// Status is what a server reports of the rules of a name.
type Status struct {
	Model string `json:"model"`
	// Source is "live" for rules of the control API, and "file" for those of the parameter
	// traffic_rules, which live rules replace.
	Source string `json:"source"`
	// Generation grows with every change of the rules; it is the ETag.
	Generation uint64        `json:"generation"`
	Rules      *Rules        `json:"rules"`
	Canary     *CanaryStatus `json:"canary,omitempty"`
	Shadow     *ShadowStatus `json:"shadow,omitempty"`
	// Sequences is the number of open sequences that stay on their version.
	Sequences int        `json:"sequences"`
	Decisions []Decision `json:"decisions"`
}

// Decision counts the requests that a rule has sent to a version.
type Decision struct {
	Target  string `json:"target"` // model
	Version string `json:"version"`
	Rule    string `json:"rule"`
	Count   uint64 `json:"count"`
}

// CanaryState is the state of a canary.
type CanaryState string

// The states.
//
//	waiting -> progressing   the target is ready
//	progressing -> waiting   the target is not ready
//	progressing -> progressing   a step passed
//	progressing -> promoted  the last step passed
//	any -> rolled_back       harm, or a command
//	any -> promoted          a command
const (
	CanaryWaiting     CanaryState = "waiting"
	CanaryProgressing CanaryState = "progressing"
	CanaryPromoted    CanaryState = "promoted"
	CanaryRolledBack  CanaryState = "rolled_back"
)

// CanaryStatus is what a server reports of a canary.
type CanaryStatus struct {
	State  CanaryState `json:"state"`
	Step   int         `json:"step"` // from 1
	Steps  int         `json:"steps"`
	Weight float64     `json:"weight"` // in percent
	Since  time.Time   `json:"since"`  // start of the step, or of the last state
	Reason string      `json:"reason"`
	Stable Window      `json:"stable"`
	Canary Window      `json:"canary"`
}

// Window is what a target of a canary has answered in the current step.
type Window struct {
	Requests int64 `json:"requests"`
	Failed   int64 `json:"failed"`
	// P99 is the 99th percentile of latency in microseconds. P99Low and P99High bound its
	// 95 % confidence interval; P99High is 0 while there are too few requests for a bound.
	P99     float64 `json:"p99_us"`
	P99Low  float64 `json:"p99_low_us"`
	P99High float64 `json:"p99_high_us"`
}

// ShadowStatus is what a server reports of a shadow.
type ShadowStatus struct {
	Compared   uint64 `json:"compared"`
	Mismatched uint64 `json:"mismatched"` // compared responses with a difference
	Failed     uint64 `json:"failed"`     // copies that the target answered with an error
	Dropped    uint64 `json:"dropped"`    // copies that the limits did not allow
	Skipped    uint64 `json:"skipped"`    // requests that cannot be copied or compared
	Pending    int    `json:"pending"`
	// Elements and MismatchedElements count elements of outputs with equal types and shapes.
	Elements           uint64  `json:"elements"`
	MismatchedElements uint64  `json:"mismatched_elements"`
	MaxAbsError        float64 `json:"max_abs_error"`
	Diffs              []Diff  `json:"diffs,omitempty"` // newest first; only on request
}

// Diff is a sampled difference.
type Diff struct {
	Time      time.Time `json:"time"`
	RequestID string    `json:"request_id,omitempty"`
	Primary   string    `json:"primary"` // model:version
	Shadow    string    `json:"shadow"`
	Output    string    `json:"output,omitempty"`
	Reason    string    `json:"reason"` // values, shape, data type, missing, unexpected, error
	Detail    string    `json:"detail,omitempty"`
	// Mismatched of Elements differ; the other fields describe the first of them.
	Elements     int     `json:"elements,omitempty"`
	Mismatched   int     `json:"mismatched,omitempty"`
	MaxAbsError  float64 `json:"max_abs_error,omitempty"`
	Index        int     `json:"index,omitempty"`
	PrimaryValue string  `json:"primary_value,omitempty"`
	ShadowValue  string  `json:"shadow_value,omitempty"`
}
