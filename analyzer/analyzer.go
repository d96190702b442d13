// Package analyzer recommends the number of instances of a model, the batch size
// and the concurrency for a machine: it starts a server for each instance count
// with a copy of the model's configuration, puts load on it and reads its memory.
// The server and the load generator are dependencies. The user's repository is
// only read.
package analyzer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"triton/analyzer/search"
	"triton/pkg/gpu"
)

// Config describes an analysis.
type Config struct {
	Model        string
	Repositories []string // the first one with the model is used
	Space        search.Space
	// LatencyBudget is the highest p99 latency to recommend; 0 means any.
	LatencyBudget time.Duration
	// Memory is the server's memory limit in bytes; 0 means all of the machine's.
	Memory uint64
	// Headroom is the share of the memory to keep free.
	Headroom float64
	// Tolerance is the share of the best throughput that a cheaper setting may
	// lose.
	Tolerance float64
	// Interval is the time between two readings of memory.
	Interval time.Duration
	// TempDir is the folder for the copies of the configuration; empty means the
	// system's.
	TempDir string
}

// DefaultConfig returns the default configuration for a model.
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
	// Launch returns when the server is ready, or an error with the server's last
	// output.
	Launch(ctx context.Context, s Setup) (Server, error)
}

// Setup describes a server to launch.
type Setup struct {
	Repository string
	Model      string // must be ready too; empty for a server without models
}

// Server is a running server.
type Server interface {
	Endpoints() Endpoints
	// PID returns the process whose memory counts, with its descendants.
	PID() int
	// Done is closed when the server has ended; Err then returns the reason.
	Done() <-chan struct{}
	Err() error
	// Close stops the server and waits until it has ended.
	Close() error
}

// Endpoints are the addresses of a server, "host:port".
type Endpoints struct{ HTTP, GRPC, Metrics string }

// Loader measures a model under load.
type Loader interface {
	Measure(ctx context.Context, at Endpoints, model string, l search.Load) (Measurement, error)
	// Exercise sends a number of requests without measuring.
	Exercise(ctx context.Context, at Endpoints, model string, l search.Load, requests int) error
}

// Measurement holds the figures of one load.
type Measurement struct {
	Requests   int
	Throughput float64 // inferences per second
	Avg        time.Duration
	P50        time.Duration
	P90        time.Duration
	P95        time.Duration
	P99        time.Duration
	Stable     bool // the measurement became stable within its trials
}

// Host reads the memory of processes and of this machine.
type Host interface {
	Process(pid int) (HostMemory, error)
	// Tree returns the process and its descendants.
	Tree(pid int) []int
	// Limit returns the memory that processes may use, and the source of the
	// limit.
	Limit() (bytes uint64, source string, err error)
}

// HostMemory is the host memory of a process, in bytes.
type HostMemory struct {
	PSS uint64 // shared pages counted in proportion
	RSS uint64 // shared pages counted in full
}

// Deps are the dependencies of an analysis.
type Deps struct {
	Launcher Launcher
	Loader   Loader
	Host     Host
	GPU      gpu.View // nil without GPUs
	// Observe, if set, receives events on the goroutine of Run.
	Observe func(Event)
}

// Event is one of the types below.
type Event interface{ event() }

type (
	// Launching is sent before a server is started; 0 instances mean a server
	// without models.
	Launching struct{ Instances int }
	// Measured is sent after each measurement.
	Measured struct{ Point Point }
	// Exercising is sent after the measurements of a server, before all its
	// instances execute at once.
	Exercising struct{ Instances, Batch int }
	// GaveUp is sent when a server has failed; higher instance counts are skipped.
	GaveUp struct {
		Instances int
		Err       error
	}
)

func (Launching) event()  {}
func (Measured) event()   {}
func (Exercising) event() {}
func (GaveUp) event()     {}
