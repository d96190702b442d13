package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/access"
	"triton/server/backend"
	"triton/server/backend/isolated"
	"triton/server/backend/python"
	"triton/server/cache"
	"triton/server/capi"
	"triton/server/connlimit"
	"triton/server/fleet"
	"triton/server/infer"
	"triton/server/memory"
	"triton/server/model"
	"triton/server/repository"
	"triton/server/repository/agents"
	"triton/server/shm"
	"triton/server/stats"
	"triton/server/trace"
	"triton/server/traffic"
)

// Server is one inference server.
type Server struct {
	opts Options
	pool *tensor.Pool
	// requestMemory is the memory for requests.
	requestMemory *requestMemory
	models        *repository.Repository
	// traffic is models with the traffic rules.
	traffic *traffic.Service
	remote  *remotes
	fleet   *fleet.Controller
	guard   *access.Guard // nil: everybody may do everything; set by Run
	// service is traffic, or traffic under the fleet state, for the frontends: chooseService.
	service infer.Service
	// isolation runs models in child processes.
	isolation *isolated.Isolation
	gpus      gpus
	cpus      int
	cache     cache.Cache // nil: none
	// stopCache stops the background work of the cache; nil: there is none.
	stopCache    func()
	registry     *prometheus.Registry
	modelMetrics *backend.Metrics // that models define
	phases       *stats.LoadRecorder
	regions      *shm.Manager     // shared memory of clients
	connections  *connlimit.Limit // of all ports; set when they open
	reserved     reservations     // set while the models load
	// Set by Run; metrics is nil without the endpoint.
	tracer  *trace.Tracer
	metrics *metricsFrontend
	// exitTimeout is that of the options until SetExitTimeout.
	exitTimeout atomic.Int64

	serving chan struct{} // closed when the ports are open
	addrs   Addresses
	// drainCtx ends when Kill is called; drains wait no longer than that.
	drainCtx context.Context
	kill     context.CancelFunc
	killed   atomic.Bool
	// delaying is set during the drain delay; a value in hurry ends it.
	delaying atomic.Bool
	hurry    chan struct{}
	ran      atomic.Bool
}

// Addresses are the addresses of the services; empty for services that are off.
type Addresses struct{ HTTP, Control, GRPC, Metrics, SageMaker, Vertex string }

// Errors of Run.
var (
	// ErrKilled reports that Kill ended the server before its requests were
	// answered.
	ErrKilled = errors.New("the server was stopped before all requests were answered")
	// ErrExitTimeout reports that requests took longer than the exit timeout.
	ErrExitTimeout error = status.New(status.Internal, "Exit timeout expired. Exiting immediately.")
)

// extensions are the protocol extensions of this server, in Triton's order.
var extensions = []string{
	"classification", "sequence", "model_repository", "model_repository(unload_dependents)", "schedule_policy",
	"model_configuration", "system_shared_memory", "cuda_shared_memory", "binary_tensor_data", "parameters",
	"statistics", "trace", "logging",
}

// New checks the options and returns a server. It starts nothing.
func New(o Options) (*Server, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Metrics.Address == "" {
		o.Metrics.Address = o.metricsAddress()
	}
	if o.OnePort {
		o.GRPC.Allow = false
	}
	requests := newRequestMemory(&o)
	if o.Pool == nil {
		o.Pool = newPool(o, requests.budget.Pools())
	}
	if b, ok := o.Backends[python.Name].(*python.Backend); ok {
		b.SetAccount(requests.budget.Pools())
	}
	s := &Server{
		requestMemory: requests,
		opts:          o, pool: o.Pool, cpus: cpus(rootFS()), serving: make(chan struct{}), hurry: make(chan struct{}, 1),
		registry: prometheus.NewRegistry(), phases: stats.NewLoadRecorder(), regions: shm.New(shm.Options{Allow: o.ClientSharedMemory, CUDA: o.CUDA, MaxSystem: maxRegions()}),
	}
	s.modelMetrics = backend.NewMetrics(s.kindTaken)
	s.exitTimeout.Store(int64(o.ExitTimeout))
	capi.SetLog(o.Log, o.Logs)
	capi.Metrics().SetTaken(tritonKindTaken)
	s.drainCtx, s.kill = context.WithCancel(context.Background())
	if err := s.openCache(); err != nil {
		return nil, err
	}
	if o.State.From != "" && o.Models.Control != repository.ControlAuto {
		o.Models.Control = repository.ControlExplicit
	}
	s.gpus = openGPUs(o.GPUs, o.Log)
	s.remote = &remotes{opts: &s.opts}
	s.isolation = isolated.New(isolated.Options{
		Program: o.Isolation.Program, Pool: s.pool, Environ: o.Isolation.Environ, MemoryLimit: o.Isolation.MemoryLimit,
		Account: requests.budget.Pools(),
	})
	s.models = repository.New(s.repositoryOptions(&o))
	s.traffic = traffic.New(traffic.Options{Models: s.models, Pool: s.pool, Log: o.Log, Record: o.CanaryRecord})
	if err := s.openFleet(); err != nil {
		return nil, errors.Join(err, s.closeCache())
	}
	s.service = s.chooseService()
	return s, nil
}

// repositoryOptions returns the options of the models.
func (s *Server) repositoryOptions(o *Options) repository.Options {
	return repository.Options{
		Options: s.modelOptions(o), Agents: agents.New(agents.Options{Directory: o.Agents.Directory, PreferLibrary: o.Agents.PreferLibrary, Log: o.Log}),
		ID: o.ID, Version: TritonVersion, Extensions: extensions,

		Paths: o.Repositories, Open: s.remote.open, ConfigName: o.Models.ConfigName, Namespacing: o.Models.Namespacing,
		Control: o.Models.Control, Startup: o.Models.Startup, SettleTime: o.Models.SettleTime,
		LoadThreads: o.LoadThreads, LoadRetries: o.Models.Retries, Closed: o.Models.Closed,
		StrictReadiness: o.StrictReadiness, Readiness: o.Readiness, RequireLibraries: o.RequireLibraries,
		Demand: s.demand(), GPUMemory: s.gpus.processMemory, MemoryRecord: o.Models.MemoryRecord,

		// s.traffic is made later: it serves these models.
		Changed: func(model string, newest *inferencepb.ModelConfig) { s.traffic.Changed(model, newest) },
		Resolve: func(model string) (string, string) { return s.traffic.Resolve(model) },
	}
}

// modelOptions returns the options of each model version.
func (s *Server) modelOptions(o *Options) model.Options {
	return model.Options{
		Backends: o.Backends, BackendDirectory: o.BackendDirectory, BackendSettings: o.backendSettings(),
		AutoComplete: o.AutoComplete, Bounds: o.Bounds, Pool: s.pool, Cache: s.cache, Limiter: o.RateLimiter.limiter(), Holds: o.Models.Holds,
		CPUs: s.cpus, Machine: modelconfig.Machine{GPUs: s.gpus.indices(), MinComputeCapability: o.MinComputeCapability}, HostPolicies: o.HostPolicies,
		GPULimits: o.Models.GPULimits, GPUUsage: s.gpus.usage, Capability: s.gpus.capability,
		Isolation: s.isolation, Isolate: o.Isolation.All,
		Log: o.Log, Phases: s.phases, Metrics: s.modelMetrics, Stats: s.statsOptions(),
	}
}

// Service returns the service that frontends call, for callers in the same process.
func (s *Server) Service() infer.Service { return s.service }

// RequestMemory returns the memory for requests.
func (s *Server) RequestMemory() *memory.Budget { return s.requestMemory.budget }

// Regions returns the shared memory that clients register, for callers in the same process.
func (s *Server) Regions() *shm.Manager { return s.regions }

// Pool returns the pool of tensor memory.
func (s *Server) Pool() *tensor.Pool { return s.pool }

// Serving returns a channel that is closed when the models are loaded and the ports
// open.
func (s *Server) Serving() <-chan struct{} { return s.serving }

// Addresses returns the addresses of the services. It is valid after Serving.
func (s *Server) Addresses() Addresses { return s.addrs }

// Kill ends the server without waiting for requests.
func (s *Server) Kill() {
	s.killed.Store(true)
	s.kill()
}

// Run loads the models, opens the ports and serves until ctx ends. Then it stops
// accepting requests, finishes those in flight and returns. A server runs once.
func (s *Server) Run(ctx context.Context) error {
	if s.ran.Swap(true) {
		return errors.New("the server has run already")
	}
	defer s.kill()
	defer s.gpus.close()
	defer s.closeGuard()
	defer func() { s.reserved.releaseAll() }()
	if err := s.prepare(ctx); err != nil {
		return errors.Join(err, s.stop(nil))
	}
	if ctx.Err() != nil {
		return s.stop(nil)
	}
	defer s.watchMemory()()
	err := s.openTracer()
	if err == nil && !s.opts.ServeWhileLoading {
		err = s.applyFleetState(ctx)
	}
	var frontends []portServer
	if err == nil {
		frontends, err = s.open()
	}
	if err != nil {
		return errors.Join(err, s.stop(nil))
	}
	failed := make(chan error, len(frontends)+1)
	var serving sync.WaitGroup
	for _, f := range frontends {
		serving.Go(func() {
			if err := f.serve(); err != nil {
				failed <- fmt.Errorf("%s service: %w", f.name(), err)
			}
		})
	}
	stopUpdates := s.keepUpToDate(failed)
	stopTraffic := s.runTraffic()
	stopGuard := s.runGuard()
	defer stopGuard()
	stopMetrics := s.embedMetrics()
	close(s.serving)
	select {
	case <-ctx.Done():
	case <-s.drainCtx.Done():
	case err = <-failed:
	}
	s.models.BeginDrain()
	stopUpdates()
	stopTraffic()
	stopMetrics()
	if err == nil {
		s.lameDuck(frontends)
	}
	err = errors.Join(err, s.stop(frontends))
	serving.Wait()
	return err
}

// openTracer starts tracing.
func (s *Server) openTracer() error {
	o := s.opts.Trace
	o.Log = s.opts.Log
	tracer, err := trace.New(o)
	if err != nil {
		return fmt.Errorf("failed to configure tracing: %w", err)
	}
	s.tracer = tracer
	return nil
}

// load loads the models and reports the result. It returns nil if ctx ends meanwhile.
func (s *Server) load(ctx context.Context) error {
	err := s.models.Start(ctx)
	if ctx.Err() != nil {
		return nil
	}
	if err == nil || errors.Is(err, repository.ErrLoad) || !s.opts.ExitOnError {
		s.logModels()
		s.logOptions()
	}
	switch {
	case err == nil, errors.Is(err, repository.ErrLoad) && !s.opts.ExitOnError:
		return nil
	case !s.opts.ExitOnError:
		s.opts.Log.Error(failureText(err) + ": the server is not live until this is corrected")
		return nil
	}
	return fmt.Errorf("creating server: %w", consoleError{status.From(err)})
}

// consoleError formats an error as Triton's console messages do.
type consoleError struct{ err *status.Error }

func (t consoleError) Error() string { return t.err.Code.String() + " - " + t.err.Msg }
func (t consoleError) Unwrap() error { return t.err }

// prepare does what precedes the ports: it checks the files, reserves the ports, and loads the models, unless
// they load while the server serves: then keepUpToDate does.
func (s *Server) prepare(ctx context.Context) error {
	for _, step := range []func() error{s.checkTLS, s.openGuard, s.reservePorts, func() error { return s.startCache(ctx) }} {
		if err := step(); err != nil {
			return err
		}
	}
	if s.opts.ServeWhileLoading {
		return nil
	}
	return s.load(ctx)
}
