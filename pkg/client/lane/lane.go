// Package lane is the load generator's client: it sends requests that were encoded
// once over connections that each carry one request at a time, and records when a
// request started and ended. It allocates nothing per request. For
// anything but load use package client. The package has no load policy.
package lane

import (
	"context"
	"errors"
	"time"

	"triton/pkg/client"
	"triton/pkg/kserve"
)

// Options configure the connection to a server.
type Options struct {
	client.Options
	// LanesPerConnection is the number of gRPC lanes per HTTP/2 connection; 0
	// means 6.
	LanesPerConnection int
	// Compression is the compression of gRPC requests: gzip, deflate or empty.
	Compression string
	// Streaming sends requests over gRPC streams, one for each lane. Models may then send
	// any number of responses.
	Streaming bool
	// JSONInputs and JSONOutputs send and request the tensors over HTTP as JSON, instead of
	// their bytes.
	JSONInputs, JSONOutputs bool
}

// Client opens lanes to one server. It is safe for concurrent use.
type Client struct {
	protocol  client.Protocol
	transport transport
}

// transport implements Client for one protocol.
type transport interface {
	prepare(req *kserve.Request, at Regions, sequence bool) (*Prepared, error)
	dial(ctx context.Context) (Conn, error)
	decode(x *Exchange, resp *kserve.Response) error
	close() error
}

// New returns a client. It connects when the first lane is dialed.
func New(o Options) (*Client, error) {
	var t transport
	var err error
	switch {
	case o.Protocol == client.GRPC && (o.JSONInputs || o.JSONOutputs):
		err = errors.New("only HTTP has tensors in JSON")
	case o.Protocol == client.GRPC:
		t, err = newGRPC(o)
	case o.Streaming:
		err = errors.New("only gRPC has streams")
	default:
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
// bytes of the tensors are borrowed: they must not change until Release.
func (c *Client) Prepare(req *kserve.Request) (*Prepared, error) {
	return c.transport.prepare(req, Regions{}, false)
}

// PrepareSequence is Prepare for a request of sequences: Exchange.Sequence has the
// sequence, which may be another one at each send.
func (c *Client) PrepareSequence(req *kserve.Request) (*Prepared, error) {
	return c.PrepareShared(req, Regions{}, true)
}

// PrepareShared is Prepare, or with sequence PrepareSequence, for a request whose tensors are in
// shared memory.
func (c *Client) PrepareShared(req *kserve.Request, at Regions, sequence bool) (*Prepared, error) {
	if sequence && (req.SequenceID != 0 || req.SequenceIDStr != "") {
		return nil, errSequence
	}
	return c.transport.prepare(req, at, sequence)
}

// Dial opens a lane, which the caller closes. The context applies to dialing only.
func (c *Client) Dial(ctx context.Context) (Conn, error) { return c.transport.dial(ctx) }

// Decode decodes the response that an exchange kept. The tensors have memory of
// their own; the caller resets resp.
func (c *Client) Decode(x *Exchange, resp *kserve.Response) error {
	return c.transport.decode(x, resp)
}

// Close closes the connections that lanes share. Close the lanes before.
func (c *Client) Close() error { return c.transport.close() }

// Conn is a lane: it carries one request at a time.
type Conn interface {
	// Do sends p, waits for the whole response and records the times in x. It
	// returns the context's error as soon as ctx ends. Errors from the server are
	// *status.Error with the server's text, and the lane may be used again. If
	// the connection ends before the response starts, the request is sent again,
	// once, unless it belongs to a sequence. A request of a sequence is sent
	// again only if the server cannot have received all of it. Over gRPC a request is
	// sent again only if the server certainly has not processed it.
	//
	// Consecutive calls with the same Done channel cost least.
	Do(ctx context.Context, p *Prepared, x *Exchange) error
	// Close closes the lane and interrupts Do. It may be called more than once
	// and from any goroutine.
	Close() error
}

// Exchange holds the times and the response of one request after Do. It is reused
// for the next request.
type Exchange struct {
	Keep bool // requests Body
	// Sequence is sent with a request of PrepareSequence.
	Sequence Sequence

	Start   int64 // Now before the request is sent
	End     int64 // Now when the response is complete
	Send    int64 // nanoseconds: HTTP writing, gRPC handing the request over
	Receive int64 // nanoseconds: HTTP reading from the first byte, gRPC decompressing and copying

	// Body is the response, if Keep was set; of a stream the last one with outputs. It is
	// valid until the next Do.
	Body    []byte
	JSONLen int // HTTP: bytes of Body that are JSON, the rest is binary

	// Responses are the times at which the responses of a stream were complete; valid
	// until the next Do. Without a stream there are none.
	Responses  []int64
	EmptyFinal bool // the last of Responses has no outputs
	// Bodies are the responses of a stream, if Keep was set; valid until the next Do.
	Bodies [][]byte
	// Observe, if set, is called at each response of a stream, on the goroutine of Do.
	Observe func()
}

func (x *Exchange) resetResponses() {
	x.Responses, x.EmptyFinal = x.Responses[:0], false
	x.Body, x.Bodies = x.Body[:0], x.Bodies[:0]
}

func (x *Exchange) addResponse(now int64) {
	x.Responses = append(x.Responses, now)
	if x.Observe != nil {
		x.Observe()
	}
}

// keep keeps a copy of a response. Body is the last one with outputs.
func (x *Exchange) keep(body []byte, outputs bool) {
	n := len(x.Bodies)
	if n < cap(x.Bodies) {
		x.Bodies = x.Bodies[:n+1] // with the memory of an earlier response
	} else {
		x.Bodies = append(x.Bodies, nil)
	}
	x.Bodies[n] = append(x.Bodies[n][:0], body...)
	if outputs {
		x.Body = append(x.Body[:0], body...)
	}
}

// Sequence is the place of a request in a sequence. ID 0 is no sequence.
type Sequence struct {
	ID         uint64
	Start, End bool
}

// epoch is the zero of Now. Only differences have a meaning.
var epoch = time.Now()

// Now reads a monotonic clock in nanoseconds.
func Now() int64 { return int64(time.Since(epoch)) }
