// Package client speaks the v2 inference protocol to any server, over HTTP or
// gRPC: inference, metadata, configuration, statistics and the repository
// index. Load generators prepare a request's bytes once and send them many
// times. It does not measure anything beyond the marks of one exchange and
// holds no retry or load policy.
package client

import (
	"context"
	"fmt"
	"strings"
	"time"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
)

// Protocol is the wire protocol of a client.
type Protocol uint8

// The protocols.
const (
	HTTP Protocol = iota
	GRPC
)

// String is the name as reports print it.
func (p Protocol) String() string {
	if p == GRPC {
		return "gRPC"
	}
	return "HTTP"
}

// ParseProtocol reads "http" or "grpc" in any case.
func ParseProtocol(s string) (Protocol, error) {
	switch strings.ToLower(s) {
	case "http":
		return HTTP, nil
	case "grpc":
		return GRPC, nil
	}
	return HTTP, fmt.Errorf("unknown protocol %q: use http or grpc", s)
}

// The administrative messages are the protocol's own, whatever the transport.
type (
	// ServerMetadata is the server's name, version and extensions.
	ServerMetadata = inferencepb.ServerMetadataResponse
	// ModelMetadata is a model's inputs and outputs.
	ModelMetadata = inferencepb.ModelMetadataResponse
	// TensorMetadata is one of them.
	TensorMetadata = inferencepb.ModelMetadataResponse_TensorMetadata
	// ModelConfig is a model's completed configuration.
	ModelConfig = inferencepb.ModelConfig
	// ModelStatistics is the counters of one model version.
	ModelStatistics = inferencepb.ModelStatistics
	// IndexEntry is one model version of a repository.
	IndexEntry = inferencepb.RepositoryIndexResponse_ModelIndex
)

// Client is a connection to one server. It is safe for concurrent use; Conns
// made by Dial are not. Errors that the server sent are *status.Error with the
// server's own text.
type Client interface {
	Protocol() Protocol

	// Live, Ready and ModelReady are false with no error when the server
	// answered that it is not.
	Live(ctx context.Context) (bool, error)
	Ready(ctx context.Context) (bool, error)
	ModelReady(ctx context.Context, model, version string) (bool, error)

	ServerMetadata(ctx context.Context) (*ServerMetadata, error)
	ModelMetadata(ctx context.Context, model, version string) (*ModelMetadata, error)
	ModelConfig(ctx context.Context, model, version string) (*ModelConfig, error)
	// Statistics of one model, or of all of them when model is empty.
	Statistics(ctx context.Context, model, version string) ([]*ModelStatistics, error)
	Index(ctx context.Context, readyOnly bool) ([]*IndexEntry, error)

	// Infer runs one request. The caller resets resp, whose tensors own memory.
	Infer(ctx context.Context, req *kserve.Request, resp *kserve.Response) error

	// Prepare encodes a request once, for any number of Conns. The tensors'
	// bytes are borrowed: they must stay as they are while it is in use.
	Prepare(req *kserve.Request) (*Prepared, error)
	// Dial opens a lane for prepared requests.
	Dial(ctx context.Context) (Conn, error)
	// Decode reads the response that an exchange kept.
	Decode(x *Exchange, resp *kserve.Response) error

	Close() error
}

// Conn is a lane that carries one request at a time.
type Conn interface {
	// Do sends p, waits for the whole response and notes the times in x. The
	// lane may be used again after an error that the server sent. Close, from
	// any goroutine, ends a Do under way.
	Do(ctx context.Context, p *Prepared, x *Exchange) error
	Close() error
}

// Exchange is what is known of one request after Do. It is reused from request
// to request.
type Exchange struct {
	Keep bool // asks for Body

	Start   int64 // reading of Now before the request is handed over
	End     int64 // reading of Now when the response is complete
	Send    int64 // nanoseconds: HTTP writing, gRPC encoding
	Receive int64 // nanoseconds: HTTP reading from the first byte, gRPC decoding

	Body    []byte // the response, when Keep was set; valid until the next Do
	JSONLen int    // HTTP: bytes of Body that are JSON, the rest is binary
}

// epoch is the zero of Now. Only differences of readings have a meaning.
var epoch = time.Now()

// Now is a monotonic clock in nanoseconds.
func Now() int64 { return int64(time.Since(epoch)) }

// Options say how to reach a server.
type Options struct {
	Protocol Protocol
	// Address is host:port; for HTTP also a URL.
	Address string
	// Headers go with every request, as HTTP headers or gRPC metadata.
	Headers map[string]string
	// LanesPerConnection is how many Conns share one HTTP/2 connection; 0 is 6.
	LanesPerConnection int
}

// New makes a client. It connects on first use.
func New(o Options) (Client, error) {
	if o.Protocol == GRPC {
		return newGRPC(o)
	}
	return newHTTP(o)
}
