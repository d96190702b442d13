// Package backend is what an inference engine implements to be served: Backend,
// Model and Instance, the set of engines of one server, and the helpers that
// put a batch's inputs together and split its outputs. The engines themselves
// are the packages below this one.
package backend

import (
	"context"
	"errors"
	"log/slog"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// Spec says which model version to load and with what.
type Spec struct {
	Name    string
	Version int64
	// Config is normalised and validated. Only AutoComplete may change it.
	Config *inferencepb.ModelConfig
	// Dir is the version directory, File the model file in it that the
	// configuration names (its name and existence are not checked yet).
	Dir, File string
	// Settings are the --backend-config pairs of this engine, global ones first
	// merged in.
	Settings map[string]string
	Pool     *tensor.Pool
	Log      *slog.Logger
	// CPUs is how many processors the whole server may use (cgroup quota and
	// affinity considered).
	CPUs int
	// Capability is the CUDA compute capability of a GPU, such as "8.6"; empty when
	// it is not known. Nil: no GPU's is.
	Capability func(device int) string
	// Submitter returns what finds other models for one that calls them while it
	// executes. An engine asks in Load, and only when its model calls others: the
	// server then closes no model before this one is through with its requests. It
	// is nil where there are no other models.
	Submitter func() infer.Submitter
}

// Placement is where one instance runs.
type Placement struct {
	Name   string // "<group>_<index>", as in logs
	Kind   inferencepb.ModelInstanceGroup_Kind
	Device int // GPU index for KIND_GPU, else 0
	// Group is the instance group that it is of.
	Group *inferencepb.ModelInstanceGroup
	// Instances is how many instances of this model version run on the same
	// kind, so that an engine can share out threads.
	Instances int
}

// Backend is one engine, named as in config.pbtxt ("onnxruntime", ...).
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
	// times and from any goroutine, also after Execute has returned, which only
	// makes it free for the next batch. A request and its inputs, but not the
	// batch, are its own until the final response, with or without data, that it
	// owes each request; it must not touch the request after that. An instance of
	// any model may answer a request later too: it calls the request's Keep before
	// Execute returns, and LetGo when it uses the request no more. After an error or
	// a panic it owes none of the batch's requests anything and must not touch them.
	//
	// A panic, or an error that is ErrBroken, takes the instance out of service: it
	// is closed, and the model is asked for another one in its place.
	Execute(ctx context.Context, batch *infer.Batch) error
	// Close is called when all requests have their final responses, when the
	// instance is broken, or when a drain has given up and answered for it. It uses
	// no request any more when Close has returned.
	Close() error
}

// The optional abilities, found by type assertion.
type (
	// AutoCompleter is a Backend that can fill what spec.Config leaves out from
	// the model file. It runs before validation and before Load.
	AutoCompleter interface {
		AutoComplete(ctx context.Context, spec Spec) error
	}
	// MemoryReporter is a Model or Instance that knows what it holds.
	MemoryReporter interface {
		Memory() []Memory
	}
	// BreakNotifier is an Instance that can break while no batch runs, such as a child
	// process. The channel delivers the reason, or is closed; it is asked for once.
	BreakNotifier interface {
		Broken() <-chan error
	}
)

// ErrBroken is found in the error of an Instance that cannot run another batch. It
// is replaced.
var ErrBroken = errors.New("the instance is broken")

// Memory is one kind of memory that a model or instance holds.
type Memory struct {
	Kind  string // "CPU", "CPU_PINNED" or "GPU"
	ID    int64  // GPU index
	Bytes uint64
}

// ErrNoLibrary is found in the error of a Backend whose own library is not there.
// A server starts all the same and serves the models that need other backends.
var ErrNoLibrary = errors.New("the engine's library was not found")

// Set is the engines of one server by name.
type Set map[string]Backend
