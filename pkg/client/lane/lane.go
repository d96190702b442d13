// Package lane sends requests that were encoded once over connections that each
// carry one request at a time. It is the load generator's side of a client: it
// costs no memory per request over HTTP and marks when a request began and
// ended. For anything but load use package client. It holds no load policy.
package lane

import (
	"context"
	"time"

	"triton/pkg/client"
	"triton/pkg/kserve"
)

// Options say how to reach a server.
type Options struct {
	client.Options
	// LanesPerConnection is how many gRPC lanes share one HTTP/2 connection;
	// 0 is 6.
	LanesPerConnection int
}

// Client opens lanes to one server. It is safe for concurrent use.
type Client struct {
	protocol  client.Protocol
	transport transport
}

// transport does the work of Client for one protocol.
type transport interface {
	prepare(req *kserve.Request) (*Prepared, error)
	dial(ctx context.Context) (Conn, error)
	decode(x *Exchange, resp *kserve.Response) error
	close() error
}

// New makes a client. It connects when the first lane is dialed.
func New(o Options) (*Client, error) {
	var t transport
	var err error
	if o.Protocol == client.GRPC {
		t, err = newGRPC(o)
	} else {
		t, err = newHTTP(o)
	}
	if err != nil {
		return nil, err
	}
	return &Client{o.Protocol, t}, nil
}

// Protocol returns the protocol of the lanes.
func (c *Client) Protocol() client.Protocol { return c.protocol }

// Prepare encodes a request once, for any number of lanes of this client. The
// tensors' bytes are borrowed: they must stay as they are until Release.
func (c *Client) Prepare(req *kserve.Request) (*Prepared, error) { return c.transport.prepare(req) }

// Dial opens a lane, which the caller closes. The context is that of dialing
// only.
func (c *Client) Dial(ctx context.Context) (Conn, error) { return c.transport.dial(ctx) }

// Decode reads the response that an exchange kept. The tensors have memory of
// their own; the caller resets resp.
func (c *Client) Decode(x *Exchange, resp *kserve.Response) error {
	return c.transport.decode(x, resp)
}

// Close closes the connections that lanes share. Lanes are closed before.
func (c *Client) Close() error { return c.transport.close() }

// Conn is a lane: it carries one request at a time.
type Conn interface {
	// Do sends p, waits for the whole response and notes the times in x. It
	// returns the context's error as soon as ctx ends; errors that the server
	// sent are *status.Error with its own text, and the lane may be used again.
	// A request whose response did not begin before the connection ended is
	// sent again, once, if it belongs to no sequence. A request of a sequence
	// is sent again only if the server cannot have received all of it.
	//
	// Consecutive calls with one context, or with contexts that have one Done
	// channel, cost least.
	Do(ctx context.Context, p *Prepared, x *Exchange) error
	// Close closes the lane. It may be called from any goroutine, also more than
	// once, and ends a Do under way.
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

// Now reads a monotonic clock in nanoseconds.
func Now() int64 { return int64(time.Since(epoch)) }
