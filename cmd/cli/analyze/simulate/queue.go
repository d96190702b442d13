package simulate

import (
	"time"

	"triton/analyzer/capacity"
	"triton/server/scheduler/simulate"
)

// queue is the server's queue in virtual time.
type queue struct{}

var _ capacity.Queue = queue{}

func model(m capacity.Model) simulate.Model {
	return simulate.Model{Config: m.Config, Instances: m.Instances, Cost: m.Cost}
}

// Open implements capacity.Queue.
func (queue) Open(m capacity.Model, arrivals []capacity.Arrival) capacity.Trace {
	trace := make([]simulate.Arrival, len(arrivals))
	for i, a := range arrivals {
		trace[i] = simulate.Arrival{At: a.At, Rows: a.Rows, Priority: a.Priority, Timeout: a.Timeout}
	}
	return traceOf(simulate.Run(model(m), trace), arrivals)
}

// Closed implements capacity.Queue.
func (queue) Closed(m capacity.Model, clients, rows, requests int) capacity.Trace {
	r, trace := simulate.RunClosed(model(m), clients, rows, requests)
	arrivals := make([]capacity.Arrival, len(trace))
	for i, a := range trace {
		arrivals[i] = capacity.Arrival{At: a.At, Rows: a.Rows}
	}
	return traceOf(r, arrivals)
}

// fates maps the simulator's outcomes.
var fates = map[simulate.Outcome]capacity.Fate{
	simulate.Waiting: capacity.Waiting, simulate.Answered: capacity.Answered, simulate.Rejected: capacity.Rejected,
	simulate.Expired: capacity.Expired, simulate.Refused: capacity.Rejected,
}

func traceOf(r *simulate.Result, arrivals []capacity.Arrival) capacity.Trace {
	t := capacity.Trace{
		Arrivals: arrivals, Latency: r.Latency,
		Batches: make([]capacity.Batch, len(r.Batches)), Fates: make([]capacity.Fate, len(r.Outcomes)),
	}
	for i, b := range r.Batches {
		t.Batches[i] = capacity.Batch{Start: b.Start, End: b.End, Rows: b.Rows, Members: b.Members}
	}
	for i, o := range r.Outcomes {
		t.Fates[i] = fates[o]
	}
	return t
}

// microseconds is a time in the unit of files.
func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
