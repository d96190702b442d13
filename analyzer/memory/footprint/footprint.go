// Package footprint finds out how much memory a model takes and how many instances of it to serve.
// It starts servers with rising instance counts, makes every instance run, reads their memory until
// it has settled, and fits a law. The answer has two limits: how many instances the memory holds,
// and how many are of use. It is run before it is given, where that endangers nothing.
package footprint

import (
	"context"
	"time"

	"triton/analyzer/trial"
)

// Place is where memory is: Host, or the UUID of a GPU or of a MIG instance.
type Place string

// Host is the memory of this machine.
const Host Place = "host"

// Reading is the memory of a server at each place, in bytes.
type Reading map[Place]uint64

// Room is the memory at a place that servers may use.
type Room struct {
	Total  uint64 // of the place
	Usable uint64 // what servers may take now
	// Limit is a lower bound that the user has set; 0 means Usable. Exceeding it harms nobody.
	Limit  uint64
	Origin string // for people
	// Foreign describes other users of the place whose memory may change meanwhile; empty if
	// there are none.
	Foreign string
	// Shared is set if processes outside suffer when the place is full: the host.
	Shared bool
}

// bound is what the servers may take.
func (r Room) bound() uint64 {
	if r.Limit > 0 {
		return min(r.Limit, r.Usable)
	}
	return r.Usable
}

// Subject is the model that is measured.
type Subject interface {
	// Room returns the places with their room while no server runs.
	Room(ctx context.Context) (map[Place]Room, error)
	// Start starts a server with a number of instances; 0 is a server without models. A
	// lack of memory is a *Failure.
	Start(ctx context.Context, instances int) (Server, error)
}

// Server is a running server of the subject.
type Server interface {
	// Memory returns what the server and its descendants have.
	Memory() (Reading, error)
	// Warm makes every instance execute, and reports how that was proven.
	Warm(ctx context.Context) (Proof, error)
	// Stress makes all instances execute batches of a size at once for a few seconds. When it is
	// called again, all of them have the memory that they need.
	Stress(ctx context.Context, batch int) error
	// Work measures the throughput of all instances, and the settings that the user asks for. It
	// comes last, so that the memory of all servers is read after the same work.
	Work(ctx context.Context) (Work, error)
	Close() error
}

// Proof says how sure it is that every instance has executed.
type Proof string

// Proofs.
const (
	Counted Proof = "each instance counted its executions"
	Enough  Proof = "more executions than one instance can have had"
	NoProof Proof = "not shown"
)

// Work is what a server did under stress.
type Work struct {
	Throughput float64 // inferences per second
	// Low and High are its 95 % interval within the measurement; zeros if that is not known.
	Low, High float64
	P99       time.Duration
	// Busy is how many processors the server kept busy; 0: not known.
	Busy float64
}

// Failure is why a server did not start or did not keep up.
type Failure struct {
	Class trial.Class
	Err   error
}

// Error returns the class and the cause.
func (f *Failure) Error() string { return string(f.Class) + ": " + f.Err.Error() }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Anchor is one measured server.
type Anchor struct {
	Instances int
	Why       string // it was measured: for people
	// The settled memory after the load, after the first executions and after the stress has
	// ended, and the most during the stress.
	Loaded, Warm, Retained, Peak Reading
	// Worked is the most memory with the user's settings too.
	Worked Reading
	Proof  Proof
	Work   Work
	// Batches are the peaks at smaller batches, on a server that is no point of the law.
	Batches []BatchPoint
	// Growing lists the places where memory still grew in the last window.
	Growing []Place
	// Failure is set if the server did not start or failed; then the rest is not complete.
	Failure *Failure
}

// BatchPoint is the most memory after a stress with batches of a size.
type BatchPoint struct {
	Batch int
	Peak  Reading
}

// Limit is what a place says about the number of instances.
type Limit struct {
	Place    Place
	Room     Room
	Headroom uint64
	Law      *Law // nil if it is not known
	// Costs is set if an instance costs memory that can be told from the noise. Otherwise the
	// place does not limit the count, and Instances is not set.
	Costs     bool
	Instances int
	// Queued is what the user's settings took beyond the stress: requests that wait.
	Queued uint64
	// Shortfall is what is missing for one instance; 0 if it fits.
	Shortfall uint64
}

// Bytes is what servers may take with the headroom kept free.
func (l Limit) Bytes() float64 {
	return max(0, float64(l.Room.bound())-float64(l.Headroom)-float64(l.Queued))
}

// Status says how sure an answer is.
type Status string

// Statuses.
const (
	Verified          Status = "verified"           // this count was run, and one more does not fit
	Predicted         Status = "predicted"          // computed from smaller counts
	Capped            Status = "capped"             // the user's limit; this count was run
	ThroughputLimited Status = "throughput-limited" // more would fit, none is of use; this count was run
	Unfit             Status = "unfit"              // not even one instance fits
	Uncertain         Status = "uncertain"          // Doubts says why
)

// Answer is how many instances to serve.
type Answer struct {
	Instances int
	Status    Status
	Run       bool // this count was run and kept all limits
	// Memory is how many instances fit; MemoryLimits is false if memory is not what limits.
	Memory       int
	MemoryLimits bool
	MemoryStatus Status
	// Useful is the smallest count whose throughput is not worse than the best; UsefulKnown is false
	// if the measured counts do not show the end.
	Useful      int
	UsefulKnown bool
	Choice      Choice // how Useful was found
	// Processors and Busy are those of the machine and those that the server kept busy with as many
	// instances, if the model computes on them; otherwise zeros.
	Processors int
	Busy       float64
	Doubts     []string
}

// Result is the footprint of a model. After an interrupt or a failure it has what was found.
type Result struct {
	Base    Reading // of a server without models
	Anchors []Anchor
	Limits  []Limit
	Answer  Answer
}

// Deps are the dependencies of Run.
type Deps struct {
	Subject Subject
	// Observe, if set, is called before and after each server, on the goroutine of Run.
	Observe func(Event)
}

// Event is a step of Run.
type Event struct {
	Instances int
	Why       string
	Done      *Anchor // nil before the server starts
	Result    *Result // so far
}
