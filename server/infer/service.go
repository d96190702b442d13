package infer

import (
	"context"

	"triton/pkg/inferencepb"
)

// Service is what the front ends need of the core. The administrative messages
// are the protocol's own protobuf structs: gRPC sends them as they are, HTTP
// writes their JSON form (docs/adr/0002-admin-messages.md).
type Service interface {
	// Live says whether the server answers at all.
	Live() bool
	// Ready says whether the server takes inference requests.
	Ready() bool
	// Exiting says whether the server is shutting down.
	Exiting() bool
	Metadata() *inferencepb.ServerMetadataResponse
	ModelReady(name, version string) (bool, error)
	// Statistics of one model, or of all when name is empty.
	Statistics(name, version string) (*inferencepb.ModelStatisticsResponse, error)
	Index(readyOnly bool) *inferencepb.RepositoryIndexResponse
	// Model finds a model version that is ready and takes a reference to it,
	// which the caller gives back with Model.Release. An empty version is the
	// server's choice. The errors are those of protocol section 11.1.
	Model(name, version string) (Model, error)
	// Load loads a model or loads it again and returns when it serves. The old
	// versions serve meanwhile, and go on when the new ones fail.
	Load(ctx context.Context, name string, o LoadOptions) error
	// Unload takes a model out of service. It returns when no new requests are
	// taken; those in flight finish. With dependents the parts of an ensemble go
	// too.
	Unload(ctx context.Context, name string, dependents bool) error
}

// LoadOptions replace parts of what the model repository holds, for one load.
type LoadOptions struct {
	// Config is a configuration as JSON that replaces the model's; nil: none.
	Config *string
	// Files replace the whole content of the model's directory; the keys are
	// relative paths with the prefix "file:", as sent.
	Files map[string][]byte
}

// Model is one ready model version, held by reference.
type Model interface {
	Name() string
	Version() string
	// Config is the configuration as the server completed it; read-only.
	Config() *inferencepb.ModelConfig
	Metadata() *inferencepb.ModelMetadataResponse
	// Labels are the class names of an output; nil when it has none.
	Labels(output string) []string
	// Infer checks the request against the model, runs it and waits for its one
	// response, which the caller releases. It uses up the core's reference to r
	// in every case; the caller keeps and releases its own. When ctx ends first
	// a queued request is withdrawn and a running one marked cancelled, and the
	// error is Cancelled.
	Infer(ctx context.Context, r *Request) (*Response, error)
	// Submit checks the request and queues it; r.Sink takes its responses, any
	// number of them when the model is decoupled. It uses up the core's reference
	// to r in every case, a panic among them. After an error nothing is sent to the sink; else all
	// may have been sent before Submit returns. r.Cancel withdraws the request.
	Submit(r *Request) error
	Release()
}
