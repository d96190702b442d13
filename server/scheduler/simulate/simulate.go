// Package simulate runs a model's queue in virtual time: the queue of waiting requests
// and the batching policy are those of the server, the clock and the instances are
// simulated. The same arrivals and configuration always give the same batches, and an
// hour of traffic takes a moment.
//
// It ignores the time that the server itself takes, and anything but its rows that a batch's
// time depends on.
package simulate

import (
	"time"

	"triton/pkg/inferencepb"
	"triton/server/infer"
	"triton/server/scheduler"
	"triton/server/stats"
)

// Arrival is one request of a trace.
type Arrival struct {
	At   time.Duration // since the start
	Rows int           // 0 is one
	// Shape is a class: requests of different classes are not batched together. It is the
	// size of all variable dimensions, so it matters only for models that have some.
	Shape    int64
	Priority uint64        // 0: the model's default
	Timeout  time.Duration // as the request parameter; 0: none
	Caller   *infer.Caller // nil: not known
}

// Model describes the server of the arrivals.
type Model struct {
	// Config is a normalized configuration. With dynamic_batching its policy forms the
	// batches, else every request runs alone.
	Config *inferencepb.ModelConfig
	// Policy replaces that of Config; nil: none.
	Policy scheduler.Policy
	// Instances is how many batches run at the same time; 0 is one.
	Instances int
	// Cost returns how long a batch of that many rows runs.
	Cost func(rows int) time.Duration
	// Admit may refuse a request before it waits behind that many; nil: all are admitted.
	Admit func(r *infer.Request, now int64, waiting int) error
	// Observer observes the batches; nil: none.
	Observer scheduler.Observer
	// Shed refuses requests of queues that are overloaded for long.
	Shed scheduler.Shed
}

// Linear returns the cost of a backend with a fixed time per batch and one per row.
func Linear(batch, row time.Duration) func(rows int) time.Duration {
	return func(rows int) time.Duration { return batch + time.Duration(rows)*row }
}

// Outcome is the outcome of a request.
type Outcome uint8

// The outcomes.
const (
	Waiting  Outcome = iota // forever: nothing makes its batch due
	Answered                // it ran
	Rejected                // the queue was full
	Expired                 // its timeout in the queue passed
	Refused                 // by Admit
	Shed                    // it waited too long in a queue that is overloaded
)

// Batch is one execution.
type Batch struct {
	Start, End time.Duration
	Instance   int
	Rows       int
	Why        stats.CloseReason
	Members    []int // indices of the arrivals, in the order of the batch
}

// Result holds the batches and the outcomes of a trace.
type Result struct {
	Batches  []Batch // in the order in which they started
	Outcomes []Outcome
	// Latency is from arrival to answer, for requests that ran.
	Latency []time.Duration
}

// Count returns how many requests had an outcome.
func (r *Result) Count(o Outcome) int {
	n := 0
	for _, got := range r.Outcomes {
		if got == o {
			n++
		}
	}
	return n
}

// Within returns how many requests were answered in at most that time.
func (r *Result) Within(d time.Duration) int {
	n := 0
	for i, l := range r.Latency {
		if r.Outcomes[i] == Answered && l <= d {
			n++
		}
	}
	return n
}

// End returns when the last batch ended.
func (r *Result) End() time.Duration {
	end := time.Duration(0)
	for i := range r.Batches {
		end = max(end, r.Batches[i].End)
	}
	return end
}

// Run simulates a trace, whose arrivals must be in the order of their times. Of
// simultaneous events, batches end first, then timeouts pass, then delays end, then
// requests arrive, one after the other.
func Run(m Model, trace []Arrival) *Result {
	s := newSimulation(m, trace)
	for i := range trace {
		s.advance(int64(trace[i].At))
		s.arrive(i)
	}
	s.advance(forever)
	return s.result
}

// RunClosed simulates clients that each send the next request, of that many rows, when the last
// one was answered. It returns the arrivals too. The run ends when so many requests were sent
// and answered. A client whose request was not answered sends no other one.
func RunClosed(m Model, clients, rows, requests int) (*Result, []Arrival) {
	s := newSimulation(m, nil)
	for range min(clients, requests) {
		s.send(rows)
	}
	for at := s.next(); at != forever; at = s.next() {
		s.advance(at)
		for ; s.answered > 0; s.answered-- {
			if len(s.trace) < requests {
				s.send(rows)
			}
		}
	}
	return s.result, s.trace
}

// policy returns the policy that a server would use.
func (m *Model) policy() scheduler.Policy {
	switch {
	case m.Policy != nil:
		return m.Policy
	case m.Config.GetDynamicBatching() != nil && m.Config.GetMaxBatchSize() > 0:
		return scheduler.NewDynamicBatching(m.Config)
	}
	return scheduler.NoBatching{}
}

// rules returns the rules of the queue. As in a server, callers that are known take turns.
func (m *Model) rules() scheduler.Rules {
	r := scheduler.RulesOf(m.Config)
	r.Fair, r.Shed = true, m.Shed
	return r
}
