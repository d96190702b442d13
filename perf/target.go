package perf

import (
	"context"
	"errors"

	"triton/perf/data"
	"triton/pkg/client"
	"triton/pkg/client/lane"
	"triton/pkg/kserve"
)

// Target is the server that a run measures. It is a Server or a Describer.
type Target interface {
	Protocol() client.Protocol

	// Prepare encodes a request for the lanes that Dial opens. Decode reads a
	// response that a lane kept.
	Prepare(req *kserve.Request) (*lane.Prepared, error)
	PrepareSequence(req *kserve.Request) (*lane.Prepared, error)
	Dial(ctx context.Context) (lane.Conn, error)
	Decode(x *lane.Exchange, resp *kserve.Response) error

	Close() error
}

// Embedded is a Target whose server may run in this process. Then there is no protocol, and
// reports do not split the time of a request.
type Embedded interface{ Embedded() bool }

// Server is a Target that describes itself and its models as Triton does.
type Server interface {
	ServerMetadata(ctx context.Context) (*client.ServerMetadata, error)
	ModelMetadata(ctx context.Context, model, version string) (*client.ModelMetadata, error)
	ModelConfig(ctx context.Context, model, version string) (*client.ModelConfig, error)
	Statistics(ctx context.Context, model, version string) ([]*client.ModelStatistics, error)
	TraceSettings(ctx context.Context, model string) (client.TraceSettings, error)
	SetTraceSettings(ctx context.Context, model string, change client.TraceSettings) (client.TraceSettings, error)
}

// Describer is a Target that knows the inputs of its models in another way. It has no
// statistics and no trace settings.
type Describer interface {
	// Describe describes a model. With batching the inputs of a request have a batch dimension.
	Describe(ctx context.Context, model, version string, batching bool) (*Description, error)
}

// Description is the interface of a model.
type Description struct {
	Inputs, Outputs []data.Tensor // ordered by name
	MaxBatch        int           // maximum size of a batch; 0: no batch dimension
}

// Conversationalist is a Target whose requests may continue a conversation.
type Conversationalist interface {
	Converse() Conversation
}

// Conversation makes requests that contain what was said before. One goroutine uses it.
type Conversation interface {
	// Ask returns a request of the turn with all turns and answers before it.
	Ask(turn *kserve.Request) (*kserve.Request, error)
	// Answer adds the response to the request before.
	Answer(x *lane.Exchange) error
}

// Connect returns a target for a server. It connects on first use.
func Connect(o lane.Options) (Target, error) {
	c, err := client.New(o.Options)
	if err != nil {
		return nil, err
	}
	l, err := lane.New(o)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &target{c, l}, nil
}

var _ SharedMemory = (*target)(nil)

// target reads metadata through a user client and sends load through lanes.
type target struct {
	*client.Client
	lanes *lane.Client
}

func (t *target) Prepare(req *kserve.Request) (*lane.Prepared, error) { return t.lanes.Prepare(req) }

func (t *target) PrepareSequence(req *kserve.Request) (*lane.Prepared, error) {
	return t.lanes.PrepareSequence(req)
}

func (t *target) PrepareShared(req *kserve.Request, at lane.Regions, sequence bool) (*lane.Prepared, error) {
	return t.lanes.PrepareShared(req, at, sequence)
}

func (t *target) Dial(ctx context.Context) (lane.Conn, error) { return t.lanes.Dial(ctx) }

func (t *target) Decode(x *lane.Exchange, resp *kserve.Response) error {
	return t.lanes.Decode(x, resp)
}

func (t *target) Close() error { return errors.Join(t.lanes.Close(), t.Client.Close()) }
