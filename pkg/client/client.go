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
	ServerMetadata  = inferencepb.ServerMetadataResponse
	ModelMetadata   = inferencepb.ModelMetadataResponse
	TensorMetadata  = inferencepb.ModelMetadataResponse_TensorMetadata
	ModelConfig     = inferencepb.ModelConfig
	ModelStatistics = inferencepb.ModelStatistics
	IndexEntry      = inferencepb.RepositoryIndexResponse_ModelIndex
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
	// Do sends p and waits for the whole response, noting the marks in x. The
	// connection may be used again after an error that the server sent.
	Do(ctx context.Context, p *Prepared, x *Exchange) error
	Close() error
}

// Exchange is what is known of one request after Do. It is reused from request
// to request. The marks are readings of Now.
type Exchange struct {
	Keep bool // asks for Body

	Start int64 // before the first byte is handed over
	Sent  int64 // the last byte was handed over
	First int64 // the first byte of the response was seen
	End   int64 // the response is complete

	Body    []byte // the response, when Keep was set; valid until the next Do
	JSONLen int    // HTTP: bytes of Body that are JSON, the rest is binary
}

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
