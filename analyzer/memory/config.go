// Package memory recommends how to serve a model on a machine: how many instances, which
// max_batch_size, and whether to batch requests. It starts servers with a copy of the model's
// configuration, puts load on them and reads their memory. The server and the load generator are
// dependencies. The user's repository is only read. PackOne and PackSeveral predict what other
// devices hold, without a run.
package memory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"triton/analyzer/bench"
	"triton/analyzer/memory/footprint"
	"triton/analyzer/memory/meter"
	"triton/pkg/gpu"
)

// Config describes an analysis.
type Config struct {
	Model        string
	Repositories []string // the first one with the model is used
	ConfigName   string   // model-config-name of the servers
	Space        Space
	// LatencyBudget is the highest p99 latency to recommend; 0 means any.
	LatencyBudget time.Duration
	// Memory is the memory limit in bytes where the model runs, on the host or on each GPU; 0
	// means all that is free.
	Memory uint64
	// Devices are the GPUs that count, by UUID or ordinal; empty means all that CUDA shows.
	Devices []string
	// Tolerance is the share of the best throughput that a smaller batch may lose.
	Tolerance float64
	// Shapes are those of the inputs, for the report.
	Shapes []string
	// TempDir is the folder for the copies of the configuration; empty means the system's.
	TempDir string
	// Footprint says how memory is measured. Run sets its counts and batches.
	Footprint footprint.Config
	// MemoryOnly leaves out the throughput.
	MemoryOnly bool
	// StressTime is the least time that all instances run at once.
	StressTime time.Duration
}

// DefaultConfig returns the default configuration for a model.
func DefaultConfig(model string) Config {
	return Config{
		Model:      model,
		Space:      Space{Batches: []int{1}, Concurrencies: []int{1, 2, 4}},
		Tolerance:  0.05,
		Footprint:  footprint.DefaultConfig(),
		StressTime: 3 * time.Second,
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
	if c.Tolerance < 0 || c.Tolerance >= 1 {
		errs = append(errs, fmt.Errorf("tolerance %v is not a share from 0 to below 1", c.Tolerance))
	}
	return errors.Join(errs...)
}

// Check returns what is wrong with the configuration or with the model, before any server starts.
func (c Config) Check() error {
	if err := c.Validate(); err != nil {
		return err
	}
	_, err := findModel(c.Model, c.ConfigName, c.Repositories)
	return err
}

// Loader measures a model under load. It is not bench's Generator, whose loads are written as perf_analyzer's
// options: this one sends exact numbers of requests, and counts what each instance executes.
type Loader interface {
	Measure(ctx context.Context, at bench.Endpoints, model string, l Load) (Measurement, error)
	// Exercise sends a number of requests without measuring.
	Exercise(ctx context.Context, at bench.Endpoints, model string, l Load, requests int) error
	// Executions returns how often each instance of the model has executed. It is an error if
	// the server does not say.
	Executions(ctx context.Context, at bench.Endpoints, model string) ([]uint64, error)
}

// Measurement holds the figures of one load.
type Measurement struct {
	Requests   int
	Throughput float64 // inferences per second
	// Low and High are the 95 % interval of the throughput within the measurement; zeros if it is not known.
	Low, High float64
	Avg       time.Duration
	P50       time.Duration
	P90       time.Duration
	P95       time.Duration
	P99       time.Duration
	// Queue is how long a request waited in the server's queue, and Rows is the size of a batch, on average; zeros if
	// the server does not say.
	Queue  time.Duration
	Rows   float64
	Stable bool // the measurement became stable within its trials
}

// Machine reads the memory of processes and of this machine.
type Machine interface {
	Processes(pids []int) (meter.Memory, error)
	Files(pid int) (uint64, error)
	// Tree returns the process and its descendants.
	Tree(pid int) []int
	// Available returns the memory that processes may still take.
	Available() (meter.HostRoom, error)
	// CPUTime returns the CPU time that processes have used.
	CPUTime(pids ...int) (time.Duration, error)
	// Kills counts the processes that were killed for lack of memory.
	Kills() uint64
}

// Deps are the dependencies of an analysis.
type Deps struct {
	Launcher bench.Launcher
	Loader   Loader
	Host     Machine
	GPU      gpu.View // nil without GPUs
	// Observe, if set, receives events on the goroutine of Run.
	Observe func(Event)
}

// Event is one of the types below.
type Event interface{ event() }

type (
	// Step is a server of the footprint, before its start or after its end.
	Step struct{ footprint.Event }
	// Measured is sent after each measurement of a setting.
	Measured struct{ Point Point }
	// Stressing is sent before all instances of a server execute at once.
	Stressing struct{ Instances, Batch int }
)

func (Step) event()      {}
func (Measured) event()  {}
func (Stressing) event() {}
