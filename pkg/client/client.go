// Package client is a client of the v2 inference protocol with Triton's
// extensions, over HTTP or gRPC: inference, streams, health, metadata,
// configuration, statistics, the model repository, shared memory, trace settings
// and log settings. Package client/lane sends load.
//
// Calls return the context's error as soon as the context ends. Errors from the
// server are *status.Error with the server's text. A call that only reads is sent
// again, once, if the server closed the idle connection. All others are sent again
// only if the server cannot have received them: an inference may change the state
// of a model, so it never runs twice.
package client

import (
	"context"
	"crypto/tls"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"
)

// Protocol is the wire protocol of a client.
type Protocol uint8

// The protocols.
const (
	HTTP Protocol = iota
	GRPC
)

// String returns the name as reports print it.
func (p Protocol) String() string {
	if p == GRPC {
		return "gRPC"
	}
	return "HTTP"
}

// ParseProtocol parses "http" or "grpc" in any case.
func ParseProtocol(s string) (Protocol, error) {
	switch strings.ToLower(s) {
	case "http":
		return HTTP, nil
	case "grpc":
		return GRPC, nil
	}
	return HTTP, fmt.Errorf("unknown protocol %q: use http or grpc", s)
}

// Options configure the connection to a server.
type Options struct {
	Protocol Protocol
	// Address is host:port. For HTTP it may also be a URL, with a path before
	// /v2. The schemes https:// and grpcs:// select TLS.
	Address string
	// Headers are sent with every request, as HTTP headers or gRPC metadata.
	Headers map[string]string
	// TLS selects and configures TLS. TLSFiles reads a configuration from files;
	// its Certificates authenticate the client to a server with mutual TLS. With
	// nil, an address that selects TLS uses the machine's root certificates and
	// no client certificate.
	TLS *tls.Config
}

// Client is a client of one server. It is safe for concurrent use.
type Client struct {
	protocol  Protocol
	transport transport
}

// transport carries the messages of the gRPC service over a protocol.
type transport interface {
	// call sends req and reads the response into resp, both messages of the method.
	call(ctx context.Context, method string, req, resp proto.Message) error
	infer(ctx context.Context, req *Request) (*Response, error)
	stream(ctx context.Context) (*Stream, error)
	close() error
}

// New returns a client. It connects on first use; Close closes its connections.
func New(o Options) (*Client, error) {
	var t transport
	var err error
	if o.Protocol == GRPC {
		t, err = newGRPC(o)
	} else {
		t, err = newHTTP(o)
	}
	if err != nil {
		return nil, err
	}
	return &Client{o.Protocol, t}, nil
}

// Protocol returns the protocol of the client.
func (c *Client) Protocol() Protocol { return c.protocol }

// Close closes the connections. gRPC calls in flight fail.
func (c *Client) Close() error { return c.transport.close() }

// Infer runs one request and returns its response.
func (c *Client) Infer(ctx context.Context, req *Request) (*Response, error) {
	return c.transport.infer(ctx, req)
}

// InferStream opens a stream for requests whose models may send any number of
// times. Only gRPC has streams. The stream ends with ctx or with its Close.
func (c *Client) InferStream(ctx context.Context) (*Stream, error) { return c.transport.stream(ctx) }
