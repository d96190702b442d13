package scheduler

import (
	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/server/infer"
)

// Rules are the priority levels of a queue and the queue policy of each. The zero value is
// first in, first out, without limits.
type Rules struct {
	// Levels is the number of priority levels; level 1 is served first. With 0 there is
	// one level, numbered 0, and the priorities of requests are ignored.
	Levels uint64
	// DefaultLevel is the level of requests without a priority, or with one above Levels.
	DefaultLevel uint64
	// DefaultPolicy is the queue policy of levels that Policies does not list.
	DefaultPolicy QueuePolicy
	Policies      map[uint64]QueuePolicy
	// Fair lets the callers of requests take turns in each level. Requests whose caller is not
	// known are first in, first out.
	Fair bool
	// Shed refuses requests while all of a caller wait too long. It needs Fair.
	Shed Shed
}

// QueuePolicy is the queue policy of one level.
type QueuePolicy struct {
	Limit        int   // of waiting requests; 0: unlimited
	Timeout      int64 // ns in the queue; 0: none
	Override     bool  // requests may set a shorter timeout
	DelayExpired bool  // after its timeout a request waits behind all others of its level; else it is rejected
}

// Micros converts microseconds of a configuration or a client to nanoseconds. The result
// is bounded, so that times can be added to it.
func Micros(n uint64) int64 { return int64(kserve.Micros(n)) }

// RulesOf reads the rules of a configuration.
func RulesOf(cfg *inferencepb.ModelConfig) Rules {
	d := cfg.GetDynamicBatching()
	r := Rules{Levels: d.GetPriorityLevels(), DefaultLevel: d.GetDefaultPriorityLevel(), DefaultPolicy: queuePolicyOf(d.GetDefaultQueuePolicy())}
	if len(d.GetPriorityQueuePolicy()) > 0 {
		r.Policies = map[uint64]QueuePolicy{}
		for number, p := range d.GetPriorityQueuePolicy() {
			r.Policies[number] = queuePolicyOf(p)
		}
	}
	return r
}

func queuePolicyOf(p *inferencepb.ModelQueuePolicy) QueuePolicy {
	return QueuePolicy{
		Limit:        int(p.GetMaxQueueSize()),
		Timeout:      Micros(p.GetDefaultTimeoutMicroseconds()),
		Override:     p.GetAllowTimeoutOverride(),
		DelayExpired: p.GetTimeoutAction() == inferencepb.ModelQueuePolicy_DELAY,
	}
}

// level returns the number of the level that a request belongs to.
func (r *Rules) level(priority uint64) uint64 {
	switch {
	case r.Levels == 0:
		return 0
	case priority == 0 || priority > r.Levels:
		return r.DefaultLevel
	}
	return priority
}

// policy returns the queue policy of a level.
func (r *Rules) policy(level uint64) QueuePolicy {
	if own, ok := r.Policies[level]; ok {
		return own
	}
	return r.DefaultPolicy
}

// timed reports whether any request can time out.
func (r *Rules) timed() bool {
	if r.DefaultPolicy.Timeout > 0 {
		return true
	}
	for _, own := range r.Policies {
		if own.Timeout > 0 {
			return true
		}
	}
	return false
}

// deadline returns when a request that arrives now times out; 0: never. A request can
// only shorten the timeout of its level.
func (p *QueuePolicy) deadline(r *infer.Request, now int64) int64 {
	timeout := p.Timeout
	if timeout == 0 {
		return 0
	}
	if p.Override && r.TimeoutMicros != 0 {
		timeout = min(timeout, Micros(r.TimeoutMicros))
	}
	return now + timeout
}
