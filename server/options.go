// Package server puts a whole inference server together: the model repository,
// the HTTP and gRPC frontends, the metrics endpoint, and their start and end.
// It does nothing else and knows nothing of flags, signals or the environment.
package server

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"time"

	"triton/pkg/cuda"
	"triton/pkg/gpu"
	"triton/pkg/log"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/grpcapi"
	"triton/server/infer"
	"triton/server/model"
	"triton/server/repository"
	"triton/server/restricted"
	"triton/server/trace"
)

// Options are everything that can be set. Start from Default.
type Options struct {
	// ID and Version are what the server says of itself.
	ID, Version string

	Repositories []string
	// ExitOnError ends the start when any model cannot be loaded.
	ExitOnError     bool
	StrictReadiness bool
	// AutoComplete lets backends fill in what configurations leave out.
	AutoComplete bool
	LoadThreads  int
	// ExitTimeout is how long the end waits for requests in flight.
	ExitTimeout time.Duration
	// StreamBacklog is how many bytes of responses one stream, of HTTP or gRPC, holds
	// for a client that does not take them; above that its request is cancelled.
	StreamBacklog int64
	// MinComputeCapability is the least that a GPU must have to be used.
	MinComputeCapability float64

	// Backends are the engines. Settings are the --backend-config pairs by
	// backend name; those under the empty name are for all.
	Backends backend.Set
	Settings map[string]map[string]string
	// BackendDirectory is where backends that are files are looked for.
	BackendDirectory string

	// Pool is where the memory of requests and responses comes from; nil: private
	// memory. One over tensor.Memfd lets child processes map it.
	Pool *tensor.Pool

	Models Models
	Cache  Cache
	Rates  Rates
	// ClientMemory lets clients register shared memory.
	ClientMemory bool
	// CUDA opens the memory of clients on GPUs; nil: there are no GPUs for it.
	CUDA cuda.Driver
	// GPUs says which GPUs CUDA shows to this process, and in which order.
	GPUs gpu.Environment
	// Trace is the settings of tracing; the server sets its log.
	Trace trace.Options

	HTTP      HTTP
	GRPC      GRPC
	Metrics   Metrics
	SageMaker SageMaker
	Vertex    Vertex

	Log *slog.Logger
	// Logs is where Log ends, for clients that change the log settings; nil:
	// they cannot.
	Logs *log.Sink
	// Access logs every request; nil does not.
	Access *slog.Logger
}

// Models is how models are loaded.
type Models struct {
	Control repository.Control
	// PollInterval is how often the repository is looked at in poll control; 0
	// is never.
	PollInterval time.Duration
	// Startup is the models of the start in explicit control; "*" alone is all.
	Startup []string
	// Retries is how often a failed load is tried again.
	Retries int
	// ConfigName chooses <model>/configs/<name>.pbtxt over config.pbtxt.
	ConfigName string
	// Namespacing lets models in different repositories have the same name.
	Namespacing bool
	// GPULimits is the share of a GPU's memory above which loads are refused.
	GPULimits map[int]float64
	// Holds keep schedulers waiting, for test suites.
	Holds model.Holds
}

// Cache is the response cache. Without a name there is none.
type Cache struct {
	Name     string            // "local" or "redis"
	Settings map[string]string // the --cache-config pairs
	// Directory is where Triton looks for caches; it is in a message only.
	Directory string
}

// Endpoint is where a service listens. Port 0 is any free one.
type Endpoint struct {
	Allow   bool
	Address string
	Port    int
	Reuse   bool // SO_REUSEPORT: several servers may share the port
}

// HTTP is the settings of the HTTP frontend.
type HTTP struct {
	Endpoint
	MaxInput int64 // of one request body, in bytes
	// Linger is how long idle connections stay open at the end, for requests
	// that are on their way.
	Linger time.Duration
	// MinRate is how many bytes a second of a body must come on average in each
	// period of two minutes; 0: one byte in each period.
	MinRate int64
	// MaxConnections is how many connections are served at a time; others are
	// answered 503. 0: no limit.
	MaxConnections int
	TLS            TLS
	// Restricted says which endpoints need a secret header.
	Restricted restricted.Rules
	// Forward chooses the headers that become request parameters; nil: none.
	Forward *regexp.Regexp
	// Origins are the web origins that browsers may call from; "*" is all.
	Origins []string
}

// GRPC is the settings of the gRPC frontend. In Limits the server sets what is
// its own: the pool, the logs, shared memory, the tracer and the credentials.
type GRPC struct {
	Endpoint
	Limits grpcapi.Options
	TLS    TLS
}

// Metrics is the settings of the metrics endpoint. Without an address it is
// that of HTTP.
type Metrics struct {
	Endpoint
	GPU, CPU bool
	Interval time.Duration // how old polled values may get
	TLS      TLS
	// Settings are the --metrics-config pairs.
	Settings map[string]string
}

// SageMaker is the settings of the frontend for Amazon SageMaker.
type SageMaker struct {
	Endpoint
	// SafePorts, if not nil, are the least and greatest port that other services
	// may use.
	SafePorts *[2]int
	// DefaultModel answers requests that name no model.
	DefaultModel string
	// PingMode is "ready", also when empty, or "live".
	PingMode string
	// InferenceType is "infer", also when empty, "generate" or "generate_stream".
	InferenceType string
	// Root is where the platform puts models: "/opt/ml/models" when empty.
	Root string
}

// Vertex is the settings of the frontend for Vertex AI.
type Vertex struct {
	Endpoint
	PredictRoute, HealthRoute string
	// DefaultModel answers requests that name no model; it may be empty when
	// there is one model only.
	DefaultModel string
}

// Default is Triton's defaults. Repositories and Backends are left to the
// caller; NewBackends makes the latter.
func Default() Options {
	return Options{
		ID: "triton", Version: "devel",
		ExitOnError: true, StrictReadiness: true, AutoComplete: true,
		LoadThreads: 4, ExitTimeout: 30 * time.Second,
		StreamBacklog:        infer.DefaultBacklog,
		MinComputeCapability: 6, BackendDirectory: "/opt/tritonserver/backends",
		Models: Models{PollInterval: 15 * time.Second},
		Cache:  Cache{Directory: "/opt/tritonserver/caches"},
		HTTP: HTTP{
			Endpoint: Endpoint{Allow: true, Address: "0.0.0.0", Port: 8000},
			MaxInput: 64 << 20, Linger: 250 * time.Millisecond, MinRate: 240,
		},
		GRPC:      GRPC{Endpoint: Endpoint{Allow: true, Address: "0.0.0.0", Port: 8001}, Limits: grpcapi.Default(nil)},
		Metrics:   Metrics{Endpoint: Endpoint{Allow: true, Port: 8002}, GPU: true, CPU: true, Interval: 2 * time.Second},
		SageMaker: SageMaker{Endpoint: Endpoint{Address: "0.0.0.0", Port: 8080}},
		Vertex:    Vertex{Endpoint: Endpoint{Address: "0.0.0.0", Port: 8080}},
		Log:       slog.New(slog.DiscardHandler),
	}
}

// Validate finds everything that is wrong.
func (o *Options) Validate() error {
	var errs []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(o.LoadThreads < 1, "model load thread count is %d, must be at least 1", o.LoadThreads)
	bad(o.ExitTimeout < 0, "exit timeout is %v, must not be negative", o.ExitTimeout)
	bad(o.StreamBacklog <= 0, "stream backlog is %d bytes, must be positive", o.StreamBacklog)
	bad(o.HTTP.MaxInput <= 0, "HTTP input size limit is %d, must be positive", o.HTTP.MaxInput)
	bad(o.HTTP.MinRate < 0, "HTTP minimum receive rate is %d, must not be negative", o.HTTP.MinRate)
	bad(o.HTTP.MaxConnections < 0, "HTTP connection limit is %d, must not be negative", o.HTTP.MaxConnections)
	bad(o.Metrics.Interval <= 0, "metrics interval is %v, must be positive", o.Metrics.Interval)
	bad(o.Models.PollInterval < 0, "poll interval is %v, must not be negative", o.Models.PollInterval)
	bad(o.Models.Retries < 0, "model load retry count is %d, must not be negative", o.Models.Retries)
	bad(o.Log == nil, "no logger")
	limits := o.GRPC.Limits
	limits.Pool = tensor.NewPool() // New sets the real one
	if err := limits.Validate(); err != nil {
		errs = append(errs, err)
	}
	services := o.services()
	for _, a := range services {
		bad(a.at.Port < 0 || a.at.Port > 65535, "%s port is %d, must be from 0 to 65535", a.name, a.at.Port)
	}
	if err := collision(services); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// collision finds the first two services that cannot listen beside each other,
// in Triton's order and words.
func collision(services []service) error {
	for i, a := range services {
		others := services[i+1:]
		if a.safe != nil {
			others = slices.Concat(services[:i], others)
		}
		for _, b := range others {
			switch {
			case a.at.Address != b.at.Address:
			case a.safe != nil && (b.at.Port < a.safe[0] || b.at.Port > a.safe[1]):
				return fmt.Errorf("The server cannot listen to %s requests at port %d, allowed port range is [%d, %d]", //nolint:staticcheck // Triton's text
					b.name, b.at.Port, a.safe[0], a.safe[1])
			case a.at.Port != 0 && a.at.Port == b.at.Port:
				return fmt.Errorf("The server cannot listen to %s requests and %s requests at the same address and port %s", //nolint:staticcheck // Triton's text
					a.name, b.name, a.at)
			}
		}
	}
	return nil
}

// settings returns the pairs that backends see: Triton's own, then the given ones.
func (o *Options) settings() map[string]map[string]string {
	all := map[string]map[string]string{"": {
		"auto-complete-config":   strconv.FormatBool(o.AutoComplete),
		"min-compute-capability": strconv.FormatFloat(o.MinComputeCapability, 'f', 6, 64),
		"backend-directory":      o.BackendDirectory,
		"default-max-batch-size": "4",
	}}
	for name, pairs := range o.Settings {
		if all[name] == nil {
			all[name] = map[string]string{}
		}
		maps.Copy(all[name], pairs)
	}
	return all
}

type service struct {
	name string
	at   Endpoint
	safe *[2]int // ports that the others may use; nil: any
}

func (o *Options) services() []service {
	metrics := o.Metrics.Endpoint
	if metrics.Address == "" {
		metrics.Address = o.HTTP.Address
	}
	var all []service
	for _, s := range []service{
		{"HTTP", o.HTTP.Endpoint, nil},
		{"GRPC", o.GRPC.Endpoint, nil},
		{"metrics", metrics, nil},
		{"SageMaker", o.SageMaker.Endpoint, o.SageMaker.SafePorts},
		{"Vertex AI", o.Vertex.Endpoint, nil},
	} {
		if s.at.Allow {
			all = append(all, s)
		}
	}
	return all
}

// String is "address:port".
func (e Endpoint) String() string { return net.JoinHostPort(e.Address, strconv.Itoa(e.Port)) }
