package perf

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"triton/perf"
	"triton/pkg/client"
	"triton/pkg/client/lane"
	"triton/pkg/kserve"
	"triton/pkg/kserve/rpc"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server"
	"triton/server/infer"
	"triton/server/local"
	"triton/server/repository"
)

// inProcessOptions configure the server.
type inProcessOptions struct {
	// Server is the server without its repository, models and services.
	Server     server.Options
	Repository string
	// Model and Version are the model to measure. Composing are models that it calls.
	Model, Version string
	Composing      []string
	// Streaming lets a request have any number of responses.
	Streaming bool
}

// exitTimeout bounds the wait for a request that a model does not finish.
const exitTimeout = 5 * time.Second

// inProcessTarget is a server in the same process: requests go to the server's core without a socket and without a codec.
// It measures what models cost without a protocol, as perf_analyzer's service kind triton_c_api does.
type inProcessTarget struct {
	*local.Server
	service   infer.Service
	codec     *rpc.Codec
	streaming bool
}

var (
	_ perf.Target       = (*inProcessTarget)(nil)
	_ perf.SharedMemory = (*inProcessTarget)(nil)
	_ perf.Embedded     = (*inProcessTarget)(nil)
)

// startServer starts a server without services, loads the models and waits until they are ready.
func startServer(ctx context.Context, o inProcessOptions) (perf.Target, error) {
	c := o.Server
	c.Repositories = []string{o.Repository}
	c.Models = server.Models{Control: repository.ControlExplicit, Startup: append([]string{o.Model}, o.Composing...)}
	c.ExitOnError, c.ClientSharedMemory = false, true
	c.ExitTimeout = exitTimeout
	for _, e := range []*server.Endpoint{&c.HTTP.Endpoint, &c.GRPC.Endpoint, &c.Metrics.Endpoint, &c.SageMaker.Endpoint, &c.Vertex.Endpoint} {
		*e = server.Endpoint{}
	}
	s, err := local.Start(ctx, c)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("failed to find healthy inference server: %w", err)
	}
	t := &inProcessTarget{s, s.Core().Service(), rpc.NewCodec(s.Core().Pool()), o.Streaming}
	if err := t.ready(o); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// ready returns why the model to measure is not ready.
func (t *inProcessTarget) ready(o inProcessOptions) error {
	if err := t.service.Failure(); err != nil {
		return fmt.Errorf("failed to find healthy inference server: %w", err)
	}
	ok, err := t.service.ModelReady(o.Model, o.Version)
	if ok && err == nil {
		return nil
	}
	for _, m := range t.service.Index(false).GetModels() {
		if m.GetName() == o.Model && m.GetReason() != "" && (o.Version == "" || m.GetVersion() == o.Version) {
			return fmt.Errorf("failed to load model '%s' version %s: %s", o.Model, m.GetVersion(), m.GetReason())
		}
	}
	if err != nil {
		return fmt.Errorf("failed to load model '%s' from %s: %w", o.Model, o.Repository, err)
	}
	if o.Version != "" {
		return fmt.Errorf("model repository %s has no version %s of model '%s'", o.Repository, o.Version, o.Model)
	}
	return fmt.Errorf("model repository %s has no model '%s'", o.Repository, o.Model)
}

// Embedded reports true.
func (*inProcessTarget) Embedded() bool { return true }

// Protocol returns the protocol whose rules hold: with streams those of gRPC.
func (t *inProcessTarget) Protocol() client.Protocol {
	if t.streaming {
		return client.GRPC
	}
	return client.HTTP
}

var errTrace = errors.New("client backend of kind TRITON_C_API does not support UpdateTraceSettings API")

func (*inProcessTarget) TraceSettings(context.Context, string) (client.TraceSettings, error) {
	return nil, errTrace
}

func (*inProcessTarget) SetTraceSettings(context.Context, string, client.TraceSettings) (client.TraceSettings, error) {
	return nil, errTrace
}

func (t *inProcessTarget) SystemMemory(_ context.Context, name string) ([]client.SystemRegion, error) {
	all, err := t.Core().Regions().SystemStatus(name)
	list := make([]client.SystemRegion, len(all))
	for i, r := range all {
		list[i] = client.SystemRegion{Name: r.Name, Key: r.Key, Offset: r.Offset, Size: r.Size}
	}
	return list, err
}

func (t *inProcessTarget) RegisterSystemMemory(_ context.Context, r client.SystemRegion) error {
	return t.Core().Regions().RegisterSystem(r.Name, r.Key, r.Offset, r.Size)
}

func (t *inProcessTarget) UnregisterSystemMemory(_ context.Context, name string) error {
	return t.Core().Regions().UnregisterSystem(name)
}

// errCUDA is the limit of CUDA's handles.
var errCUDA = errors.New("CUDA shared memory is between processes: a process cannot open its own memory")

func (*inProcessTarget) RegisterCUDAMemory(context.Context, client.CUDARegion) error { return errCUDA }

func (*inProcessTarget) UnregisterCUDAMemory(context.Context, string) error { return errCUDA }

func (t *inProcessTarget) Prepare(req *kserve.Request) (*lane.Prepared, error) {
	return t.PrepareShared(req, lane.Regions{}, false)
}

func (t *inProcessTarget) PrepareSequence(req *kserve.Request) (*lane.Prepared, error) {
	return t.PrepareShared(req, lane.Regions{}, true)
}

// PrepareShared copies the inputs to memory that the server's backends read in place.
func (t *inProcessTarget) PrepareShared(req *kserve.Request, at lane.Regions, sequence bool) (*lane.Prepared, error) {
	p := &prepared{at: at, sequence: sequence}
	p.Request = *req
	p.Inputs = slices.Clone(req.Inputs)
	for i := range p.Inputs {
		d := &req.Inputs[i].Data
		p.Inputs[i].Data = tensor.Data{}
		n := d.Len()
		if n == 0 || i < len(at.Inputs) && at.Inputs[i].Region != "" {
			continue
		}
		b, err := t.Core().Pool().TryGet(n)
		if err != nil {
			p.release()
			return nil, status.New(status.Unavailable, "no memory for input '%s': %w", p.Inputs[i].Name, err)
		}
		d.CopyTo(b.Bytes())
		p.Inputs[i].Data = tensor.NewData(b)
	}
	return lane.Custom(p, p.release), nil
}

// Decode decodes a response that a lane kept.
func (t *inProcessTarget) Decode(x *lane.Exchange, resp *kserve.Response) error {
	return decode(t.codec, x.Body, resp)
}

func (t *inProcessTarget) Dial(context.Context) (lane.Conn, error) { return &conn{target: t}, nil }
