package scheduler

import (
	"triton/pkg/inferencepb"
	"triton/server/infer"
)

// Rules say who may wait, in which order and for how long. The zero value is
// one list, first in, first out, without limits.
type Rules struct {
	// Levels is the number of priority levels, of which 1 is served first. With 0
	// there is one level, numbered 0, and what requests ask for does not count.
	Levels uint64
	// Default is the level of requests that ask for none, or for one beyond Levels.
	Default uint64
	// Every is the rule of the levels that Of does not list.
	Every Rule
	Of    map[uint64]Rule
}

// Rule is the queue policy of one level.
type Rule struct {
	Limit    int   // of requests that wait; 0: none
	Timeout  int64 // ns in the queue; 0: none
	Override bool  // requests may ask for a shorter timeout
	Delay    bool  // what has timed out waits on, behind all others of its level; else it is rejected
}

// forever is a time in microseconds that never ends.
const forever = 1 << 51

// Micros is a time that a configuration or a client gives in microseconds, in
// nanoseconds and bounded, so that there is room to add times to it.
func Micros(n uint64) int64 { return int64(min(n, forever)) * 1000 }

// RulesOf are those of a configuration.
func RulesOf(cfg *inferencepb.ModelConfig) Rules {
	d := cfg.GetDynamicBatching()
	r := Rules{Levels: d.GetPriorityLevels(), Default: d.GetDefaultPriorityLevel(), Every: ruleOf(d.GetDefaultQueuePolicy())}
	if len(d.GetPriorityQueuePolicy()) > 0 {
		r.Of = map[uint64]Rule{}
		for number, p := range d.GetPriorityQueuePolicy() {
			r.Of[number] = ruleOf(p)
		}
	}
	return r
}

func ruleOf(p *inferencepb.ModelQueuePolicy) Rule {
	return Rule{
		Limit:    int(p.GetMaxQueueSize()),
		Timeout:  Micros(p.GetDefaultTimeoutMicroseconds()),
		Override: p.GetAllowTimeoutOverride(),
		Delay:    p.GetTimeoutAction() == inferencepb.ModelQueuePolicy_DELAY,
	}
}

// level is the number of the level that a request belongs to.
func (r *Rules) level(priority uint64) uint64 {
	switch {
	case r.Levels == 0:
		return 0
	case priority == 0 || priority > r.Levels:
		return r.Default
	}
	return priority
}

// rule is that of a level.
func (r *Rules) rule(level uint64) Rule {
	if own, ok := r.Of[level]; ok {
		return own
	}
	return r.Every
}

// timed says whether any request can time out.
func (r *Rules) timed() bool {
	if r.Every.Timeout > 0 {
		return true
	}
	for _, own := range r.Of {
		if own.Timeout > 0 {
			return true
		}
	}
	return false
}

// deadline is when a request that comes now times out; 0: never. A request can
// only shorten the timeout that the level has.
func (r *Rule) deadline(q *infer.Request, now int64) int64 {
	timeout := r.Timeout
	if timeout == 0 {
		return 0
	}
	if r.Override && q.TimeoutMicros != 0 {
		timeout = min(timeout, Micros(q.TimeoutMicros))
	}
	return now + timeout
}
