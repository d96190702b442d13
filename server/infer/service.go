package infer

import (
	"context"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
)

// Service is what the frontends need of the core. The administrative messages are the
// protocol's own protobuf structs: gRPC sends them unchanged, HTTP writes their JSON form
// (docs/adr/0002-admin-messages.md).
type Service interface {
	// Live reports whether the server answers at all.
	Live() bool
	// Ready reports whether the server takes inference requests.
	Ready() bool
	// Exiting reports whether the server is shutting down.
	Exiting() bool
	// Failure returns why the server could not initialize, nil if it could. A server with a
	// failure is neither live nor ready.
	Failure() error
	Metadata() *inferencepb.ServerMetadataResponse
	ModelReady(name, version string) (bool, error)
	// Statistics returns the statistics of one model, or of all models when name is empty.
	Statistics(name, version string) (*inferencepb.ModelStatisticsResponse, error)
	Index(readyOnly bool) *inferencepb.RepositoryIndexResponse
	// Model returns a ready model version with a reference, which the caller releases.
	// With an empty version the server chooses. The errors have Triton's texts for unknown
	// and for unready models.
	Model(name, version string) (Model, error)
	// Load loads or reloads a model and returns when it serves. The old versions serve
	// meanwhile, and remain when the load fails.
	Load(ctx context.Context, name string, o LoadOptions) error
	// Unload takes a model out of service. It returns when no new requests are accepted;
	// those in flight finish. With dependents it also unloads the models of an ensemble.
	Unload(ctx context.Context, name string, dependents bool) error
}

// LoadOptions replace the configuration or the files of a model for one load.
type LoadOptions struct {
	// Config is a configuration in JSON that replaces the model's; nil keeps it.
	Config *string
	// Files replace the whole content of the model's directory; the keys are
	// relative paths with the prefix "file:", as sent.
	Files map[string][]byte
	// Again loads the model without Config as its files have it, although what serves was loaded from
	// the same files with another configuration.
	Again bool
}

// Model is one ready model version, held by reference.
type Model interface {
	Name() string
	Version() string
	// Config returns the completed configuration; read-only.
	Config() *inferencepb.ModelConfig
	Metadata() *inferencepb.ModelMetadataResponse
	// Labels returns the class names of an output; nil when it has none.
	Labels(output string) []string
	// Infer checks the request against the model, runs it and waits for its one response,
	// which the caller releases. It consumes the core's reference to r in every case; the
	// caller keeps and releases its own. When ctx ends first, a queued request is
	// withdrawn, a running one is marked cancelled, and the error is Cancelled.
	Infer(ctx context.Context, r *Request) (*Response, error)
	// Submit checks the request and queues it; r.Sink takes its responses, any number of
	// them when the model is decoupled. It consumes the core's reference to r in every
	// case, even when it panics. After an error nothing is sent to the sink; otherwise
	// all responses may have been sent before Submit returns. r.Cancel withdraws the
	// request.
	Submit(r *Request) error
	Release()
}

// InputPooler is a Model with a backend that takes an input without a copy if the frontend received it
// into memory of this pool (see Request.OwnInputs). A nil pool means that it copies all inputs.
type InputPooler interface {
	InputPool() *tensor.Pool
}
