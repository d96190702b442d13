// Package client speaks the v2 inference protocol with Triton's extensions to
// any server that has it, over HTTP or gRPC: inference and streams of it, health,
// metadata, configuration, statistics, the model repository, shared memory, and
// the settings of traces and logs. It measures nothing and makes no load: package
// client/lane does.
//
// Calls return the context's error as soon as the context ends. Errors that the
// server sent are *status.Error with the server's own text. A call that only
// reads is sent again, once, when the server closes an idle connection at that
// moment. All others are sent again only if the server cannot have received
// them: an inference may change the state of a model, and is never run twice.
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

// Options say how to reach a server.
type Options struct {
	Protocol Protocol
	// Address is host:port. For HTTP it may be a URL too, with a path before
	// /v2; https:// and grpcs:// ask for TLS.
	Address string
	// Headers go with every request, as HTTP headers or gRPC metadata.
	Headers map[string]string
	// TLS asks for TLS and says how. TLSFiles reads one from files; Certificates
	// in it are those of a client of a server with mutual TLS. Nil with an
	// address that asks for TLS is the machine's trust and no client certificate.
	TLS *tls.Config
}

// Client is a client of one server. It is safe for concurrent use.
type Client struct {
	protocol  Protocol
	transport transport
}

// transport carries the messages of the gRPC service by any protocol.
type transport interface {
	// call sends req and reads the answer into resp, both messages of the method.
	call(ctx context.Context, method string, req, resp proto.Message) error
	infer(ctx context.Context, req *Request) (*Response, error)
	stream(ctx context.Context) (*Stream, error)
	close() error
}

// New makes a client. It connects on first use; Close ends its connections.
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

// Protocol returns the protocol that the client speaks.
func (c *Client) Protocol() Protocol { return c.protocol }

// Close closes the connections. Calls under way over gRPC fail.
func (c *Client) Close() error { return c.transport.close() }

// Infer runs one request and returns its response.
func (c *Client) Infer(ctx context.Context, req *Request) (*Response, error) {
	return c.transport.infer(ctx, req)
}

// InferStream opens a stream for requests whose models may answer any number of
// times. Only gRPC has streams. The stream ends with ctx or with its Close.
func (c *Client) InferStream(ctx context.Context) (*Stream, error) { return c.transport.stream(ctx) }
