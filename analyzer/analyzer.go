// Package analyzer finds out how many instances of a model, at which batch size
// and concurrency, a machine should serve: it starts a server for each instance
// count over a copy of the model's configuration, puts load on it, reads its
// memory, and concludes. It neither serves nor makes load itself; both are
// given to it. The user's repository is only read.
package analyzer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"triton/analyzer/search"
	"triton/pkg/gpu"
)

// Config says what to analyze.
type Config struct {
	Model        string
	Repositories []string // the first that has the model counts
	Space        search.Space
	// LatencyBudget is the highest p99 latency to recommend; 0 for any.
	LatencyBudget time.Duration
	// Memory is what the server may use, in bytes; 0 for what there is.
	Memory uint64
	// Headroom is the share of the memory to keep free.
	Headroom float64
	// Tolerance is how far a cheaper setting may stay behind the best
	// throughput, as a share.
	Tolerance float64
	// Interval is the time between two readings of memory.
	Interval time.Duration
	// TempDir takes the copies of the configuration; empty for the system's.
	TempDir string
}

// DefaultConfig is the analysis of a model on this machine.
func DefaultConfig(model string) Config {
	return Config{
		Model:     model,
		Space:     search.Space{Instances: []int{1, 2}, Batches: []int{1}, Concurrencies: []int{1, 2, 4}},
		Headroom:  0.05,
		Tolerance: 0.05,
		Interval:  250 * time.Millisecond,
	}
}

// Validate returns everything that is wrong with the configuration.
func (c Config) Validate() error {
	errs := []error{c.Space.Validate()}
	if c.Model == "" {
		errs = append(errs, errors.New("no model is named"))
	}
	if len(c.Repositories) == 0 {
		errs = append(errs, errors.New("no model repository is named"))
	}
	if c.LatencyBudget < 0 {
		errs = append(errs, fmt.Errorf("latency budget %v is negative", c.LatencyBudget))
	}
	if c.Headroom < 0 || c.Headroom >= 1 {
		errs = append(errs, fmt.Errorf("headroom %v is not a share from 0 to below 1", c.Headroom))
	}
	if c.Tolerance < 0 || c.Tolerance >= 1 {
		errs = append(errs, fmt.Errorf("tolerance %v is not a share from 0 to below 1", c.Tolerance))
	}
	if c.Interval <= 0 {
		errs = append(errs, fmt.Errorf("interval %v between memory readings is not positive", c.Interval))
	}
	return errors.Join(errs...)
}

// Launcher starts servers.
type Launcher interface {
	// Launch returns when the server is ready, or with an error that says why
	// it is not, the server's last words included.
	Launch(ctx context.Context, s Setup) (Server, error)
}

// Setup is what a server is started with.
type Setup struct {
	Repository string
	Model      string // must be ready too; empty when there is none
}

// Server is a running server.
type Server interface {
	Endpoints() Endpoints
	// PID is the process whose memory counts, with its descendants.
	PID() int
	// Done is closed when the server has ended; Err then says how.
	Done() <-chan struct{}
	Err() error
	// Close ends the server and waits for that.
	Close() error
}

// Endpoints are the addresses of a server, "host:port".
type Endpoints struct{ HTTP, GRPC, Metrics string }

// Loader measures a model under load.
type Loader interface {
	Measure(ctx context.Context, at Endpoints, model string, l search.Load) (Measurement, error)
	// Exercise sends so many requests and measures nothing.
	Exercise(ctx context.Context, at Endpoints, model string, l search.Load, requests int) error
}

// Measurement is what one load came to.
type Measurement struct {
	Requests   int
	Throughput float64 // inferences per second
	Avg        time.Duration
	P50        time.Duration
	P90        time.Duration
	P95        time.Duration
	P99        time.Duration
	Stable     bool // the measurement settled within its trials
}

// Host reads the memory of processes and of this machine.
type Host interface {
	Process(pid int) (HostMemory, error)
	// Tree is the process and all that descend from it.
	Tree(pid int) []int
	// Limit is the memory that processes here may use, and what sets it.
	Limit() (bytes uint64, source string, err error)
}

// HostMemory is a process's part of the host's memory, in bytes.
type HostMemory struct {
	PSS uint64 // shared pages counted by share
	RSS uint64 // shared pages counted in full
}

// Deps are what an analysis needs from outside.
type Deps struct {
	Launcher Launcher
	Loader   Loader
	Host     Host
	GPU      gpu.View // nil without GPUs
	// Observe, if set, is told what happens, from the goroutine of Run.
	Observe func(Event)
}

// Event is one of the types below.
type Event interface{ event() }

type (
	// Launching comes before a server is started; no instances mean the bare
	// server.
	Launching struct{ Instances int }
	// Measured comes after each measurement.
	Measured struct{ Point Point }
	// Exercising comes before all instances of a server are put to work at
	// once, after its measurements.
	Exercising struct{ Instances, Batch int }
	// GaveUp says that a server failed and that no more instances are tried.
	GaveUp struct {
		Instances int
		Err       error
	}
)

func (Launching) event()  {}
func (Measured) event()   {}
func (Exercising) event() {}
func (GaveUp) event()     {}
