package lane

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip" // registers itself
	grpcstatus "google.golang.org/grpc/status"

	"triton/pkg/client/internal/h2"
	"triton/pkg/client/internal/wire"
	"triton/pkg/inferencepb"
	"triton/pkg/kserve/rpc"
	"triton/pkg/tensor"
)

// defaultLanes is the number of lanes per connection, as in Triton's client
// library: a single connection would serialize high concurrencies at the server's
// stream limit, one per lane would lose the sharing of reads and writes.
const defaultLanes = 6

type grpcClient struct {
	target        wire.Target
	headers       []h2.Field // of the options
	invalid       error      // why no call can have these headers
	perConn       int
	streaming     bool
	head          *h2.Head // of the calls
	bidirectional bool     // each request is a call with streams in both directions
	// compression of requests; empty: none
	compression string
	codec       *rpc.Codec
	mu          struct {
		sync.Mutex
		conns []*sharedConn
	}
}

func newGRPC(o Options) (*grpcClient, error) {
	target, err := wire.ParseGRPC(o.Address, o.TLS)
	if err != nil {
		return nil, err
	}
	if o.Compression != "" && encoding.GetCompressor(o.Compression) == nil {
		return nil, fmt.Errorf("unknown compression %q: use gzip or deflate", o.Compression)
	}
	c := &grpcClient{target: target, perConn: o.LanesPerConnection, streaming: o.Streaming, compression: o.Compression, codec: rpc.NewCodec(tensor.NewPool())}
	if c.perConn <= 0 {
		c.perConn = defaultLanes
	}
	c.headers, c.invalid = metadata(o.Headers)
	c.head = c.headOf(inferencepb.GRPCInferenceService_ModelInfer_FullMethodName)
	if o.Streaming {
		c.head = c.headOf(inferencepb.GRPCInferenceService_ModelStreamInfer_FullMethodName)
	}
	return c, nil
}

// headOf returns the header list of calls of a method. Its fields and their order are those of grpc-go.
func (c *grpcClient) headOf(method string) *h2.Head {
	fields := []h2.Field{
		{Name: ":method", Value: "POST"},
		{Name: ":scheme", Value: c.target.Scheme()},
		{Name: ":path", Value: method},
		{Name: ":authority", Value: c.target.Authority()},
		{Name: "content-type", Value: "application/grpc+proto"},
		{Name: "user-agent", Value: "triton-perf"},
		{Name: "te", Value: "trailers"},
	}
	if c.compression != "" {
		fields = append(fields, h2.Field{Name: "grpc-encoding", Value: c.compression})
	}
	fields = append(fields, h2.Field{Name: "grpc-accept-encoding", Value: "gzip," + rpc.Deflate})
	return h2.NewHead(append(fields, c.headers...))
}

// metadata returns the headers of the options as those of calls. Values of names that end in -bin are binary.
// As in grpc-go, those that gRPC sets itself are left out.
func metadata(headers map[string]string) ([]h2.Field, error) {
	var fields []h2.Field
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		value := headers[name]
		name = strings.ToLower(name)
		switch binary := strings.HasSuffix(name, "-bin"); {
		case name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "":
			return nil, grpcstatus.Errorf(codes.Internal, "header key %q contains illegal characters not in [0-9a-z-_.]", name)
		case !binary && strings.ContainsFunc(value, func(r rune) bool { return r < 0x20 || r > 0x7e }):
			return nil, grpcstatus.Errorf(codes.Internal, "header key %q contains value with non-printable ASCII characters", name)
		case strings.HasPrefix(name, "grpc-") || slices.Contains([]string{"content-type", "user-agent", "te"}, name):
			continue
		case binary:
			value = base64.RawStdEncoding.EncodeToString([]byte(value))
		}
		fields = append(fields, h2.Field{Name: name, Value: value})
	}
	return fields, nil
}

// acquire adds a lane to a connection that may have one more.
func (c *grpcClient) acquire() *sharedConn {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.mu.conns {
		if s.lanes < c.perConn {
			s.lanes++
			return s
		}
	}
	s := &sharedConn{lanes: 1, dial: func(ctx context.Context) (*h2.Conn, error) { return h2.Open(ctx, c.target.Connect, Now) }}
	c.mu.conns = append(c.mu.conns, s)
	return s
}

// release removes a lane from its connection. A connection without lanes is closed
// unless it is the last one.
func (c *grpcClient) release(s *sharedConn) {
	c.mu.Lock()
	s.lanes--
	unused := s.lanes == 0 && len(c.mu.conns) > 1
	if unused {
		c.mu.conns = slices.DeleteFunc(c.mu.conns, func(o *sharedConn) bool { return o == s })
	}
	c.mu.Unlock()
	if unused {
		s.close()
	}
}

// close closes all connections, including those of open lanes.
func (c *grpcClient) close() error {
	c.mu.Lock()
	conns := c.mu.conns
	c.mu.conns = nil
	c.mu.Unlock()
	for _, s := range conns {
		s.close()
	}
	return nil
}
