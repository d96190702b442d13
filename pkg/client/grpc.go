package client

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/kserve/rpc"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// defaultLanes is how many lanes share a connection. It is what Triton's own
// client library does: one connection would serialize high concurrencies at the
// server's stream limit, one per lane would lose the sharing of reads.
const defaultLanes = 6

// windowBytes are fixed flow-control windows. A fixed size also keeps grpc-go
// from measuring the path with pings.
const windowBytes = 4 << 20

type grpcClient struct {
	target   string
	metadata metadata.MD
	perConn  int
	codec    *rpc.Codec
	lanes    lanes
	mu       struct {
		sync.Mutex
		conns []*grpc.ClientConn
		used  int // lanes handed out
	}
}

var _ Client = (*grpcClient)(nil)

func newGRPC(o Options) (*grpcClient, error) {
	addr := strings.TrimPrefix(o.Address, "grpc://")
	if addr == "" || strings.Contains(addr, "://") {
		return nil, fmt.Errorf("server address %q: give host:port for gRPC", o.Address)
	}
	c := &grpcClient{target: "passthrough:///" + addr, perConn: o.LanesPerConnection, metadata: metadata.MD{}, codec: rpc.NewCodec(tensor.NewPool())}
	if c.perConn <= 0 {
		c.perConn = defaultLanes
	}
	for name, value := range o.Headers {
		c.metadata.Append(strings.ToLower(name), value)
	}
	return c, nil
}

// dial makes a connection, which connects on its own.
func (c *grpcClient) dial() (*grpc.ClientConn, error) {
	return grpc.NewClient(c.target,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithInitialWindowSize(windowBytes),
		grpc.WithInitialConnWindowSize(4*windowBytes),
		grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableHealthCheck(),
		grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.MaxCallSendMsgSize(math.MaxInt32)))
}

// conn is connection i, made when it is first needed.
func (c *grpcClient) conn(i int) (*grpc.ClientConn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.mu.conns) <= i {
		cc, err := c.dial()
		if err != nil {
			return nil, fmt.Errorf("connect to %s: %w", c.target, err)
		}
		c.mu.conns = append(c.mu.conns, cc)
	}
	return c.mu.conns[i], nil
}

func (c *grpcClient) Protocol() Protocol { return GRPC }

func (c *grpcClient) outgoing(ctx context.Context) context.Context {
	if len(c.metadata) == 0 {
		return ctx
	}
	return metadata.NewOutgoingContext(ctx, c.metadata)
}

// admin makes an administrative call.
func admin[Req, Resp any](ctx context.Context, c *grpcClient, req *Req,
	call func(inferencepb.GRPCInferenceServiceClient, context.Context, *Req, ...grpc.CallOption) (*Resp, error),
) (*Resp, error) {
	cc, err := c.conn(0)
	if err != nil {
		return nil, err
	}
	resp, err := call(inferencepb.NewGRPCInferenceServiceClient(cc), c.outgoing(ctx), req)
	if err != nil {
		return nil, rpcError(ctx, err)
	}
	return resp, nil
}

// rpcError is the error of a call as the server worded it.
func rpcError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s, ok := grpcstatus.FromError(err)
	if !ok {
		return err
	}
	msg := s.Message()
	if s.Code() == codes.Unavailable && strings.HasPrefix(msg, "connection error: ") {
		// The words of the C++ library come first, because scripts look for them.
		msg = "failed to connect to all addresses; last error: " + msg
	}
	return &status.Error{Code: codeOfGRPC(s.Code()), Msg: msg, Cause: err}
}

func codeOfGRPC(c codes.Code) status.Code {
	for s := status.Unknown; s <= status.Cancelled; s++ {
		if s.GRPC() == c {
			return s
		}
	}
	return status.Unknown
}

type service = inferencepb.GRPCInferenceServiceClient

func (c *grpcClient) Live(ctx context.Context) (bool, error) {
	r, err := admin(ctx, c, &inferencepb.ServerLiveRequest{}, service.ServerLive)
	return r.GetLive(), err
}

func (c *grpcClient) Ready(ctx context.Context) (bool, error) {
	r, err := admin(ctx, c, &inferencepb.ServerReadyRequest{}, service.ServerReady)
	return r.GetReady(), err
}

func (c *grpcClient) ModelReady(ctx context.Context, model, version string) (bool, error) {
	r, err := admin(ctx, c, &inferencepb.ModelReadyRequest{Name: model, Version: version}, service.ModelReady)
	return r.GetReady(), err
}

func (c *grpcClient) ServerMetadata(ctx context.Context) (*ServerMetadata, error) {
	return admin(ctx, c, &inferencepb.ServerMetadataRequest{}, service.ServerMetadata)
}

func (c *grpcClient) ModelMetadata(ctx context.Context, model, version string) (*ModelMetadata, error) {
	return admin(ctx, c, &inferencepb.ModelMetadataRequest{Name: model, Version: version}, service.ModelMetadata)
}

func (c *grpcClient) ModelConfig(ctx context.Context, model, version string) (*ModelConfig, error) {
	r, err := admin(ctx, c, &inferencepb.ModelConfigRequest{Name: model, Version: version}, service.ModelConfig)
	return r.GetConfig(), err
}

func (c *grpcClient) Statistics(ctx context.Context, model, version string) ([]*ModelStatistics, error) {
	r, err := admin(ctx, c, &inferencepb.ModelStatisticsRequest{Name: model, Version: version}, service.ModelStatistics)
	return r.GetModelStats(), err
}

func (c *grpcClient) Index(ctx context.Context, readyOnly bool) ([]*IndexEntry, error) {
	r, err := admin(ctx, c, &inferencepb.RepositoryIndexRequest{Ready: readyOnly}, service.RepositoryIndex)
	return r.GetModels(), err
}

func (c *grpcClient) Infer(ctx context.Context, req *kserve.Request, resp *kserve.Response) error {
	return c.lanes.infer(ctx, c, req, resp)
}

func (c *grpcClient) Close() error {
	err := c.lanes.close()
	c.mu.Lock()
	conns := c.mu.conns
	c.mu.conns = nil
	c.mu.Unlock()
	for _, cc := range conns {
		err = errors.Join(err, cc.Close())
	}
	return err
}
