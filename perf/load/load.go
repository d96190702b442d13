// Package load sends prepared requests and records the latency of each. A Closed generator
// keeps a number of requests in flight; a Paced one starts requests at the times of a
// schedule, whether or not earlier ones were answered. Each concurrent request has a
// goroutine and a connection of its own. The package has no policy: its callers choose the
// load and the duration, and judge stability.
package load

import (
	"context"
	"errors"

	"triton/pkg/client/lane"
	"triton/pkg/measure"
)

// Demand is what a generator has to send.
type Demand struct {
	Concurrency int      // requests in flight; of a Closed generator
	Schedule    Schedule // when requests start; of a Paced generator
	Total       int      // requests to send; 0: no end
}

// Generator sends requests. One goroutine calls its methods, except Snapshot.
type Generator interface {
	// Start sends what is demanded until Start, Pause, Drain or Close is called. The
	// channel receives once Total requests are answered; when a worker fails, Failed is
	// closed instead.
	Start(d Demand) <-chan struct{}
	// Pause starts no more requests.
	Pause()
	// Drain pauses, waits until no request is in flight, and ends the open sequences. It
	// drops requests that are late and have not started.
	Drain(ctx context.Context) error
	// Close ends all requests at once and waits for the workers.
	Close()

	// Failed is closed as soon as a worker has failed.
	Failed() <-chan struct{}
	// Err returns ErrLoad if a worker has failed.
	Err() error
	// Failures returns the failures in the order of the workers.
	Failures() []Failure

	// Pending returns the number of completed requests that Collect has not returned.
	Pending() int
	// Collect moves the recorded samples to the end of samples.
	Collect(samples []measure.Sample, now int64) Batch
	// Snapshot adds all latencies since the start to c, if Options.Live is set. Any
	// goroutine may call it.
	Snapshot(c *measure.Counts)
}

// Options configure a generator.
type Options struct {
	Dialer Dialer
	Source Source
	// Check compares a response with the expected one. Without it responses are not kept.
	Check func(r *Request, x *lane.Exchange) error
	// Record observes every request that was answered, on the goroutine of its worker.
	// With it responses are kept.
	Record func(r *Request, x *lane.Exchange)
	// TolerateErrors counts requests that the server refuses with a *status.Error and goes on.
	// Without it the first one ends its worker.
	TolerateErrors bool
	// Live keeps a running histogram for Snapshot.
	Live bool
	// Max is the maximum number of requests that a Paced generator has in flight; later
	// ones start late. 0 means 1024.
	Max int
	// Alarm makes the alarm of a Paced generator; nil means TimerAlarm.
	Alarm func(stop <-chan struct{}) Alarm
}

// NewAlarm returns an alarm of the options.
func (o *Options) NewAlarm(stop <-chan struct{}) Alarm {
	if o.Alarm == nil {
		return TimerAlarm(stop)
	}
	return o.Alarm(stop)
}

// Dialer opens a lane for a worker.
type Dialer interface {
	Dial(ctx context.Context) (lane.Conn, error)
}

// ErrLoad is the failure of at least one worker.
var ErrLoad = errors.New("Failed to maintain requested inference load. Worker thread(s) failed to generate concurrent requests.")

// Failure is why a worker stopped.
type Failure struct {
	Worker int
	Err    error
}

// Batch holds what the workers recorded since the last Collect.
type Batch struct {
	Samples   []measure.Sample
	Totals    measure.Totals // since the start
	Started   uint64         // requests that were sent, since the start
	Errors    uint64         // requests that failed and were tolerated, since the start
	LastError error          // of one of the workers
	// InFlight is the mean over the workers of the time with a request in flight.
	InFlight int64
}
