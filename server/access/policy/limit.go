package policy

import (
	"iter"
	"strings"
	"time"

	"triton/server/infer"
)

// Limit is how much its callers may ask of models, and how they share the queues of models with
// others. Each caller has a quota of its own unless the limit is shared. Of a call only the first
// limit counts that concerns its caller and its model.
type Limit struct {
	// Requests, Rows and Bytes are rates per second; 0: not limited. Burst is for how long a
	// caller that was quiet may save them up.
	Requests, Rows, Bytes float64
	Burst                 time.Duration
	// Concurrent is the number of requests in progress; 0: not limited.
	Concurrent int
	Weight     uint32
	Class      infer.Class
	// Shared makes all callers of the limit one: they share its quota and its turns in queues.
	Shared bool
	// Text identifies the limit: two with the same text mean the same.
	Text string

	who    []string
	models []pattern
	all    bool // models
}

// unlimited is the limit of callers that no limit of a policy with limits concerns.
var unlimited = &Limit{Weight: 1, all: true, Text: "unlimited"}

// Callers names the callers of the limit.
func (l *Limit) Callers() string { return strings.Join(l.who, " ") }

// Limits reports whether the policy has limits.
func (p *Policy) Limits() bool { return len(p.limits) > 0 }

// Limit returns the limit of a caller's requests to a model; nil for a policy without limits. With
// an empty model it returns the limit if that is the same for all models, else nil.
func (p *Policy) Limit(who *Principal, model, version string) *Limit {
	if len(p.limits) == 0 {
		return nil
	}
	for _, l := range p.granted(who).limits {
		switch {
		case l.all:
			return l
		case model == "":
			return nil
		case matches(l.models, model, version):
			return l
		}
	}
	return unlimited
}

// AllLimits returns the limits of the policy, which may be nil.
func (p *Policy) AllLimits() iter.Seq[*Limit] {
	return func(yield func(*Limit) bool) {
		if p == nil || len(p.limits) == 0 || !yield(unlimited) {
			return
		}
		for _, l := range p.limits {
			if !yield(l) {
				return
			}
		}
	}
}
