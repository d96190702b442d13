// Package server assembles an inference server: the model repository, the HTTP and gRPC
// frontends, the metrics endpoint, and their start and shutdown. It knows nothing of
// flags, signals or the environment.
package server

import (
	"log/slog"
	"maps"
	"net"
	"regexp"
	"strconv"
	"time"

	"triton/pkg/cuda"
	"triton/pkg/gpu"
	"triton/pkg/log"
	"triton/pkg/modelconfig"
	"triton/pkg/tensor"
	"triton/server/access"
	"triton/server/backend"
	"triton/server/frontend"
	"triton/server/grpcapi"
	"triton/server/hostpolicy"
	"triton/server/infer"
	"triton/server/model"
	"triton/server/readiness"
	"triton/server/repository"
	"triton/server/trace"
)

// TritonVersion is the version of Triton whose protocol and behavior the server follows. It is the
// version in the server's metadata, because programs parse that as Triton's, to know what they may use.
const TritonVersion = "2.73.0"

// Options are all settings of a server. Start from Default.
type Options struct {
	// ID is the server's name in its metadata.
	ID string
	// Version and Commit say what this program was built from.
	Version, Commit string

	Repositories []string
	// ExitOnError makes Run fail if any model cannot be loaded.
	ExitOnError bool
	// RequireLibraries counts models that lack nothing but the library of their backend among those
	// that cannot be loaded.
	RequireLibraries bool
	StrictReadiness  bool
	// Readiness replaces StrictReadiness, unless its mode is readiness.Triton.
	Readiness readiness.Policy
	// ServeWhileLoading opens the ports before the models are loaded.
	ServeWhileLoading bool
	// AutoComplete lets backends fill in missing fields of configurations.
	AutoComplete bool
	// Bounds limit what one configuration may create.
	Bounds      modelconfig.Bounds
	LoadThreads int
	// ExitTimeout is how long a shutdown waits for requests in flight.
	ExitTimeout time.Duration
	// DrainDelay is how long a shutdown accepts everything, without being ready, before it
	// begins to wait for the requests in flight.
	DrainDelay time.Duration
	// StreamBacklog limits the bytes of responses that one stream, of HTTP or
	// gRPC, holds for a client that does not read them. Above it the request is
	// cancelled.
	StreamBacklog int64
	// RequestMemory limits the memory that requests and their replies may use, in bytes. 0 is half
	// of what the models and the program leave of the memory of the machine or the control group.
	RequestMemory int64
	// LimitHeap lets the server set the memory limit of the Go runtime, which is one for the
	// process, so that garbage stays within the memory that is left.
	LimitHeap bool
	// MinComputeCapability is the compute capability that a GPU must have to be
	// used.
	MinComputeCapability float64

	// Backends are the available backends. BackendSettings are the --backend-config
	// pairs by backend name; the pairs under the empty name apply to all.
	Backends        backend.Set
	BackendSettings map[string]map[string]string
	// BackendDirectory is searched for backends that are shared libraries.
	BackendDirectory string

	// HostPolicies are the --host-policy settings by the name of the policy.
	HostPolicies hostpolicy.Policies

	// Pool is the source of the memory of requests and responses; nil: private
	// memory. Child processes can map the memory of a pool over tensor.Memfd.
	Pool *tensor.Pool

	// CanaryRecord is a file that keeps the states of canaries over a restart; empty: none does.
	CanaryRecord string
	// Isolation says which models run in processes of their own.
	Isolation Isolation

	Models      Models
	Remote      Remote
	State       State
	Cache       Cache
	Agents      Agents
	RateLimiter RateLimiter
	// ClientSharedMemory lets clients register shared memory.
	ClientSharedMemory bool
	// CUDA opens the memory of clients on GPUs; nil: clients cannot register
	// such memory.
	CUDA cuda.Driver
	// GPUs says which GPUs CUDA shows to this process, and in which order.
	GPUs gpu.Environment
	// Trace is the configuration of tracing; the server sets its log.
	Trace trace.Options

	// Guard says who may do what.
	Guard access.Options
	// Control is a port of HTTP for the calls that concern the operation of the server: the
	// repository, shared memory, settings. The other ports then refuse these calls.
	Control Endpoint

	HTTP HTTP
	GRPC GRPC
	// OnePort serves gRPC, and gRPC-Web, at the port of HTTP, and opens no port for gRPC. The endpoint and TLS of
	// gRPC are not used.
	OnePort   bool
	Metrics   Metrics
	SageMaker SageMaker
	Vertex    Vertex

	Log *slog.Logger
	// Logs is the sink of Log, through which clients change the log settings;
	// nil: they cannot.
	Logs *log.Sink
	// AccessLog gets a record of every request; nil: none.
	AccessLog *slog.Logger
}

// Isolation configures models that run in processes of their own.
type Isolation struct {
	// All isolates all models whose configuration does not say.
	All bool
	// Program is the file and the first arguments of a program that runs one model
	// (package isolated/host); empty: no model can be isolated.
	Program []string
	// Environ and MemoryLimit are those of isolated.Options.
	Environ     []string
	MemoryLimit int64
}

// Models configures how models are loaded.
type Models struct {
	Control repository.Control
	// PollInterval is the time between two polls of the repository in poll
	// control; 0: it is not polled.
	PollInterval time.Duration
	// SettleTime is how long the files of a model must be unchanged before a poll loads them.
	SettleTime time.Duration
	// Startup lists the models to load at the start in explicit control; "*"
	// alone loads all.
	Startup []string
	// Retries is how often a failed load is repeated.
	Retries int
	// ConfigName selects <model>/configs/<name>.pbtxt instead of config.pbtxt.
	ConfigName string
	// Namespacing allows models in different repositories to have the same
	// name.
	Namespacing bool
	// GPULimits is the fraction of a GPU's memory above which loads are
	// refused.
	GPULimits map[int]float64
	// OnDemand configures repository.ControlAuto.
	OnDemand OnDemand
	// MemoryRecord is a file with the measured memory of models, for estimates after a restart;
	// empty: none.
	MemoryRecord string
	// Closed is called after each version that was closed, on any goroutine; nil: nothing is.
	Closed func()
	// Holds delay schedulers, for test suites.
	Holds model.Holds
}

// State configures the fleet state that the server follows.
type State struct {
	// From is a file or an http or https URL with the document; empty: there is none. With it
	// the control mode is explicit, and the document decides which models are loaded.
	From string
	// Interval is the time from one look at the document and the models to the next.
	Interval time.Duration
	// Write lets loads and unloads of clients change the file.
	Write bool
	// Cache is a file for the last good document; empty: it is not kept.
	Cache string
}

// Cache configures the response cache. Without a name there is none.
type Cache struct {
	Name     string            // "local", "redis", or the name of a library
	Settings map[string]string // the --cache-config pairs
	// Directory has the libraries of caches: <name>/libtritoncache_<name>.so.
	Directory string
	// PreferLibrary lets a library in Directory replace the cache of the same name in this
	// program.
	PreferLibrary bool
}

// Agents configures the repository agents.
type Agents struct {
	// Directory has the libraries of agents: <name>/libtritonrepoagent_<name>.so.
	Directory string
	// PreferLibrary lets a library in Directory replace the agent of the same name in this
	// program.
	PreferLibrary bool
}

// Endpoint is the address of a service. Port 0 selects a free port. The address
// "unix:<path>" is a unix socket, which has no port.
type Endpoint struct {
	Allow   bool
	Address string
	Port    int
	Reuse   bool // SO_REUSEPORT: several servers may share the port
	// Inherited is a socket that listens already, in place of Address and Port. The server
	// closes it; who opened it may hold it open.
	Inherited net.Listener
}

// HTTP configures the HTTP frontend.
type HTTP struct {
	Endpoint
	// MaxInput limits the JSON of one request, and a decompressed body, in bytes.
	MaxInput int64
	// IdleGrace is how long idle connections stay open at a shutdown, for requests
	// that are on their way.
	IdleGrace time.Duration
	// MinRate is the minimum average rate of a request body in bytes per
	// second, in each period of two minutes; 0: one byte in each period.
	MinRate int64
	// MaxConnections limits the connections that are served at a time; others
	// get status 503. 0: no limit.
	MaxConnections int
	TLS            TLS
	// Restricted says which endpoints need a secret header.
	Restricted frontend.Restrictions
	// Forward selects the headers that become request parameters; nil: none.
	Forward *regexp.Regexp
	// Origins are the web origins that browsers may call from; "*" allows all.
	Origins []string
}

// GRPC configures the gRPC frontend. The server sets some of Frontend itself: the pool,
// the logs, shared memory, the tracer and the credentials.
type GRPC struct {
	Endpoint
	Frontend grpcapi.Options
	TLS      TLS
}

// Metrics configures the metrics endpoint. If its address is empty it uses that of
// HTTP.
type Metrics struct {
	Endpoint
	// Embedded collects metrics for Server.MetricsText, without a port.
	Embedded bool
	GPU, CPU bool
	Interval time.Duration // maximum age of polled values
	TLS      TLS
	// Settings are the --metrics-config pairs.
	Settings map[string]string
}

// SageMaker configures the frontend for Amazon SageMaker.
type SageMaker struct {
	Endpoint
	// SafePorts, if not nil, are the lowest and highest port that other
	// services may use.
	SafePorts *[2]int
	// DefaultModel answers requests that name no model.
	DefaultModel string
	// PingMode is "ready" (the default) or "live".
	PingMode string
	// InferenceType is "infer" (the default), "generate" or "generate_stream".
	InferenceType string
	// Root is the folder of the platform's models; "/opt/ml/models" if it is
	// empty.
	Root string
}

// Vertex configures the frontend for Vertex AI.
type Vertex struct {
	Endpoint
	PredictRoute, HealthRoute string
	// DefaultModel answers requests that name no model. It may be empty if
	// there is only one model.
	DefaultModel string
}

// Default returns Triton's defaults. The caller sets Repositories and Backends;
// NewBackends makes the latter.
func Default() Options {
	return Options{
		ID: "triton", Version: "devel",
		ExitOnError: true, StrictReadiness: true, AutoComplete: true, Bounds: modelconfig.DefaultBounds(),
		LoadThreads: 4, ExitTimeout: 30 * time.Second,
		StreamBacklog:        infer.DefaultResponseBacklog,
		MinComputeCapability: 6, BackendDirectory: "/opt/tritonserver/backends",
		Models:  Models{PollInterval: 15 * time.Second, SettleTime: time.Second, OnDemand: OnDemand{KeepAlive: -1, Timeout: 30 * time.Second, MaxWaiting: 4096}},
		State:   State{Interval: 2 * time.Second},
		Guard:   access.Default(),
		Control: Endpoint{Address: "127.0.0.1"},
		Cache:   Cache{Directory: "/opt/tritonserver/caches"},
		Agents:  Agents{Directory: "/opt/tritonserver/repoagents"},
		HTTP: HTTP{
			Endpoint: Endpoint{Allow: true, Address: "0.0.0.0", Port: 8000},
			MaxInput: 64 << 20, IdleGrace: 250 * time.Millisecond, MinRate: 240,
		},
		GRPC:      GRPC{Endpoint: Endpoint{Allow: true, Address: "0.0.0.0", Port: 8001}, Frontend: grpcapi.Default(nil)},
		Metrics:   Metrics{Endpoint: Endpoint{Allow: true, Port: 8002}, GPU: true, CPU: true, Interval: 2 * time.Second},
		SageMaker: SageMaker{Endpoint: Endpoint{Address: "0.0.0.0", Port: 8080}},
		Vertex:    Vertex{Endpoint: Endpoint{Address: "0.0.0.0", Port: 8080}},
		Log:       slog.New(slog.DiscardHandler),
	}
}

// backendSettings returns the pairs that backends get: Triton's own, and the user's, which
// override them.
func (o *Options) backendSettings() map[string]map[string]string {
	all := map[string]map[string]string{"": {
		"auto-complete-config":   strconv.FormatBool(o.AutoComplete),
		"min-compute-capability": strconv.FormatFloat(o.MinComputeCapability, 'f', 6, 64),
		"backend-directory":      o.BackendDirectory,
		"default-max-batch-size": "4",
	}}
	for name, pairs := range o.BackendSettings {
		if all[name] == nil {
			all[name] = map[string]string{}
		}
		maps.Copy(all[name], pairs)
	}
	return all
}

// String returns "address:port", or the address of a unix socket.
func (e Endpoint) String() string {
	if e.unix() {
		return e.Address
	}
	return net.JoinHostPort(e.Address, strconv.Itoa(e.Port))
}

// unix reports whether the address is that of a unix socket.
func (e Endpoint) unix() bool {
	_, ok := access.UnixPath(e.Address)
	return ok
}

// metricsAddress is the address of the metrics if none is set: that of HTTP, or this machine
// if HTTP is a unix socket, which two services cannot share.
func (o *Options) metricsAddress() string {
	if o.HTTP.unix() {
		return "127.0.0.1"
	}
	return o.HTTP.Address
}
