package lane

import (
	"context"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"

	"triton/pkg/client"
	"triton/pkg/client/internal/wire"
)

// MethodOptions configure calls of one method of any gRPC service. Options.Protocol has no
// effect.
type MethodOptions struct {
	client.Options
	Name string // such as /package.Service/Method
	// Streaming is set for a method with streams in both directions: a request is one call,
	// with all its messages and all responses.
	Streaming bool
	// LanesPerConnection and Compression are those of Options.
	LanesPerConnection int
	Compression        string
}

// Method opens lanes for calls of one method. It is safe for concurrent use.
type Method struct{ grpc *grpcClient }

// NewMethod returns a client. It connects when the first lane is dialed.
func NewMethod(o MethodOptions) (*Method, error) {
	c, err := newGRPC(Options{Options: o.Options, LanesPerConnection: o.LanesPerConnection, Compression: o.Compression})
	if err != nil {
		return nil, err
	}
	c.method, c.bidirectional = o.Name, o.Streaming
	return &Method{c}, nil
}

// Prepare returns the request of encoded messages, one unless the method is streaming. The
// bytes must not change until Release.
func (m *Method) Prepare(messages ...[]byte) *Prepared {
	p := &Prepared{}
	for _, b := range messages {
		p.size += len(b)
		p.messages = append(p.messages, mem.BufferSlice{mem.SliceBuffer(b)})
	}
	if !m.grpc.bidirectional {
		p.message, p.messages = p.messages[0], nil
	}
	return p
}

// Dial opens a lane, which the caller closes. The context applies to dialing only.
func (m *Method) Dial(ctx context.Context) (Conn, error) { return m.grpc.dial(ctx) }

// Invoke calls another method of the server, outside of the load.
func (m *Method) Invoke(ctx context.Context, name string, message []byte) ([]byte, error) {
	s, err := m.grpc.acquire()
	if err != nil {
		return nil, err
	}
	out, x := outgoing{message: mem.BufferSlice{mem.SliceBuffer(message)}}, Exchange{Keep: true}
	err = s.Invoke(m.grpc.outgoing(ctx), name, &out, &x, grpc.ForceCodecV2(rawCodec{}))
	if err != nil {
		err = wire.RPCError(ctx, err)
	}
	return x.Body, errors.Join(err, m.grpc.release(s))
}

// Close closes the connections that lanes share. Close the lanes before.
func (m *Method) Close() error { return m.grpc.close() }

// callLane makes a call of its own for each request: it sends all messages while it receives
// all responses.
type callLane struct{ *grpcLane }

var _ Conn = (*callLane)(nil)

var bothWays = &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}

func (l *callLane) Do(ctx context.Context, p *Prepared, x *Exchange) error {
	if l.call == nil || ctx.Done() != l.done {
		if err := l.bind(ctx); err != nil {
			return err
		}
	}
	x.resetResponses()
	x.Send, x.Receive = 0, 0
	x.Start = Now()
	err := l.exchange(p, x)
	x.End = Now()
	switch {
	case err == nil:
		return nil
	case ctx.Err() == nil && l.isClosed():
		return errClosed
	}
	return wire.RPCError(ctx, err)
}

func (l *callLane) exchange(p *Prepared, x *Exchange) error {
	call, cancel := context.WithCancel(l.call)
	defer cancel()
	stream, err := l.conn.NewStream(call, bothWays, l.client.method, l.codec...)
	if err != nil {
		return err
	}
	var sent int64
	var wg sync.WaitGroup
	wg.Go(func() {
		sendAll(stream, p)
		sent = Now()
	})
	err = receiveAll(stream, x)
	cancel() // the server may end the call before it has read everything
	wg.Wait()
	x.Send = sent - x.Start
	return err
}

// sendAll sends the messages of a call until it ends; receiveAll has the reason.
func sendAll(stream grpc.ClientStream, p *Prepared) {
	for _, m := range p.messages {
		if stream.SendMsg(&outgoing{message: m}) != nil {
			return
		}
	}
	_ = stream.CloseSend() // always nil
}

// receiveAll receives the responses of a call, up to its end.
func receiveAll(stream grpc.ClientStream, x *Exchange) error {
	var in received
	for {
		in.body = in.body[:0]
		in.keep = x.Keep
		if err := stream.RecvMsg(&in); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		x.addResponse(Now())
		if x.Keep {
			x.keep(in.body, true)
		}
	}
}

// received is any message.
type received struct {
	keep bool
	body []byte // if keep is set
}
