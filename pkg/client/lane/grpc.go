package lane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip" // registers itself
	"google.golang.org/grpc/metadata"

	"triton/pkg/client/internal/wire"
	"triton/pkg/inferencepb"
	"triton/pkg/kserve/rpc"
	_ "triton/pkg/kserve/rpc" // registers itself
	"triton/pkg/tensor"
)

// defaultLanes is the number of lanes per connection, as in Triton's client
// library: a single connection would serialize high concurrencies at the server's
// stream limit, one per lane would lose the sharing of reads.
const defaultLanes = 6

type grpcClient struct {
	target        wire.Target
	metadata      metadata.MD
	perConn       int
	streaming     bool
	method        string // of the calls
	bidirectional bool   // each request is a call with streams in both directions
	// compression of requests; empty: none
	compression string
	codec       *rpc.Codec
	mu          struct {
		sync.Mutex
		conns []*sharedConn
	}
}

// sharedConn is a connection with the number of its lanes.
type sharedConn struct {
	*grpc.ClientConn
	lanes int
}

func newGRPC(o Options) (*grpcClient, error) {
	target, err := wire.ParseGRPC(o.Address, o.TLS)
	if err != nil {
		return nil, err
	}
	if o.Compression != "" && encoding.GetCompressor(o.Compression) == nil {
		return nil, fmt.Errorf("unknown compression %q: use gzip or deflate", o.Compression)
	}
	c := &grpcClient{target: target, perConn: o.LanesPerConnection, streaming: o.Streaming, method: inferencepb.GRPCInferenceService_ModelInfer_FullMethodName, compression: o.Compression, metadata: metadata.MD{}, codec: rpc.NewCodec(tensor.NewPool())}
	if c.perConn <= 0 {
		c.perConn = defaultLanes
	}
	for name, value := range o.Headers {
		c.metadata.Append(strings.ToLower(name), value)
	}
	return c, nil
}

func (c *grpcClient) outgoing(ctx context.Context) context.Context {
	if len(c.metadata) == 0 {
		return ctx
	}
	return metadata.NewOutgoingContext(ctx, c.metadata)
}

// acquire adds a lane to a connection that may have one more.
func (c *grpcClient) acquire() (*sharedConn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.mu.conns {
		if s.lanes < c.perConn {
			s.lanes++
			return s, nil
		}
	}
	cc, err := c.target.Dial()
	if err != nil {
		return nil, err
	}
	s := &sharedConn{cc, 1}
	c.mu.conns = append(c.mu.conns, s)
	return s, nil
}

// release removes a lane from its connection. A connection without lanes is closed
// unless it is the last one.
func (c *grpcClient) release(s *sharedConn) error {
	c.mu.Lock()
	s.lanes--
	unused := s.lanes == 0 && len(c.mu.conns) > 1
	if unused {
		c.mu.conns = slices.DeleteFunc(c.mu.conns, func(o *sharedConn) bool { return o == s })
	}
	c.mu.Unlock()
	if unused {
		return s.Close()
	}
	return nil
}

// close closes all connections, including those of open lanes.
func (c *grpcClient) close() error {
	c.mu.Lock()
	conns := c.mu.conns
	c.mu.conns = nil
	c.mu.Unlock()
	var err error
	for _, s := range conns {
		err = errors.Join(err, s.Close())
	}
	return err
}

// connect waits for the connection or its first failure, which the first request
// reports.
func connect(ctx context.Context, cc *grpc.ClientConn) {
	cc.Connect()
	for {
		s := cc.GetState()
		if s == connectivity.Ready || s == connectivity.TransientFailure || s == connectivity.Shutdown || !cc.WaitForStateChange(ctx, s) {
			return
		}
	}
}
