// Package backend defines what a backend implements to be served (Backend, Model and
// Instance), the set of backends of one server, the tools that gather the inputs of a
// batch and scatter its outputs, and the metrics that models define. The backends
// themselves are the packages below this one.
package backend

import (
	"context"
	"errors"
	"log/slog"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
	"triton/server/hostpolicy"
	"triton/server/infer"
)

// Spec describes the model version to load.
type Spec struct {
	Name    string
	Version int64
	// Config is normalized and validated. Only AutoComplete may change it.
	Config *inferencepb.ModelConfig
	// Dir is the version directory, File the model file in it that the
	// configuration names (its name and existence are not checked yet).
	Dir, File string
	// Settings are the --backend-config pairs of this backend; those for all
	// backends are merged in.
	Settings map[string]string
	Pool     *tensor.Pool
	Log      *slog.Logger
	// CPUs is the number of processors that the whole server may use, after
	// cgroup quota and affinity.
	CPUs int
	// Capability returns the CUDA compute capability of a GPU, such as "8.6",
	// or "" if it is not known; nil: it is not known for any GPU.
	Capability func(device int) string
	// Submitter returns the access to other models for a model that calls them
	// while it executes. A backend calls it in Load, and only if its model
	// calls others: the server then keeps all models open until this one has
	// finished its requests. It is nil if there are no other models.
	Submitter func() infer.Submitter
	// Controller loads and unloads models for a model that asks for it; nil: it may not.
	Controller infer.Controller
	// Metrics holds the metrics that models define; nil: they may not.
	Metrics *Metrics
}

// Placement is where one instance runs.
type Placement struct {
	Name   string // "<group>_<index>", as in logs
	Kind   inferencepb.ModelInstanceGroup_Kind
	Device int // GPU index for KIND_GPU, else 0
	// Group is the instance group of the instance.
	Group *inferencepb.ModelInstanceGroup
	// Instances is the number of instances of this model version on the same
	// kind, so that a backend can divide threads among them. For an instance that is
	// bound to processors it counts those with the same host policy.
	Instances int
	// HostPolicy binds the threads of the instance. NewInstance, Execute and Close are called
	// on a thread that is bound. A backend binds the threads and processes that it starts on
	// other goroutines.
	HostPolicy hostpolicy.Policy
}

// Backend loads models of one kind. It is named as in config.pbtxt ("onnxruntime",
// ...).
type Backend interface {
	Load(ctx context.Context, spec Spec) (Model, error)
}

// Model is one loaded model version.
type Model interface {
	NewInstance(ctx context.Context, at Placement) (Instance, error)
	// Close is called after the last instance is closed.
	Close() error
}

// Instance is called by one goroutine at a time, not always the same one.
type Instance interface {
	// Execute runs a batch. A nil error means every request was answered by the
	// instance, each with exactly one final response. Otherwise none was, and
	// the caller answers all of them with the error. Execute sets the batch's
	// InputEnd and OutputStart. It does not release requests.
	//
	// An instance of a decoupled model may answer each request any number of
	// times and from any goroutine, also after Execute has returned; the return
	// only makes the instance free for the next batch. The instance owns the
	// request and its inputs, but not the batch, until it sends the final
	// response, with or without data. It sends exactly one to each request and
	// must not touch the request after that. An instance of any model may
	// answer a request later too: it calls the request's Keep before Execute
	// returns, and LetGo when it has finished with the request. After an error
	// or a panic it answers none of the batch's requests and must not touch
	// them.
	//
	// A panic, or an error that wraps ErrBroken, takes the instance out of
	// service: it is closed, and the model makes another one in its place.
	Execute(ctx context.Context, batch *infer.Batch) error
	// Close is called when all requests have their final responses, when the
	// instance is broken, or when a drain has timed out and answered for it.
	// The instance uses no request after Close has returned.
	Close() error
}

// The optional interfaces, found by type assertion.
type (
	// AutoCompleter is a Backend that fills the missing fields of spec.Config
	// from the model file. It runs before validation and before Load.
	AutoCompleter interface {
		AutoComplete(ctx context.Context, spec Spec) error
	}
	// MemoryReporter is a Model or Instance that reports its memory.
	MemoryReporter interface {
		Memory() []Memory
	}
	// ProcessOwner is an Instance that runs in a process of its own. Process returns the
	// process ID, whose memory counts as the model's; 0 if there is none now.
	ProcessOwner interface {
		Process() int
	}
	// InputPooler is a Model that takes an input without a copy if its memory is of this pool
	// and only the request refers to it.
	InputPooler interface {
		InputPool() *tensor.Pool
	}
	// BreakNotifier is an Instance that can break while no batch runs, such as
	// a child process. The channel delivers the reason, or is closed. Broken is
	// called once.
	BreakNotifier interface {
		Broken() <-chan error
	}
	// ReadinessChecker is an Instance with a readiness check of its own. CheckReady
	// returns why the instance takes no requests, or nil. It is called by any number
	// of goroutines whenever the readiness of the model is asked, also while a batch
	// runs and after Close. It must return within seconds.
	ReadinessChecker interface {
		CheckReady() error
	}
)

// ErrBroken is wrapped by the error of an Instance that cannot run another batch. The
// instance is closed and replaced.
var ErrBroken = errors.New("the instance is broken")

// Memory is the memory of one kind that a model or instance uses.
type Memory struct {
	Kind  string // "CPU", "CPU_PINNED" or "GPU"
	ID    int64  // GPU index
	Bytes uint64
}

// ErrNoLibrary is wrapped by the error of a Backend whose shared library is missing.
// The server starts without it and serves the models of other backends.
var ErrNoLibrary = errors.New("the backend's library was not found")

// Set holds the backends of one server by name.
type Set map[string]Backend
