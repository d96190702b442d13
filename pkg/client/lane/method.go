package lane

import (
	"context"
	"errors"

	"triton/pkg/client"
	"triton/pkg/client/internal/h2"
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
	c.head, c.bidirectional = c.headOf(o.Name), o.Streaming
	return &Method{c}, nil
}

// Prepare returns the request of encoded messages, one unless the method is streaming. The
// bytes must not change until Release.
func (m *Method) Prepare(messages ...[]byte) *Prepared {
	p := &Prepared{}
	for _, b := range messages {
		p.size += len(b)
		p.messages = append(p.messages, message{parts: [][]byte{b}})
	}
	if !m.grpc.bidirectional {
		p.message, p.messages = p.messages[0], nil
	}
	if err := m.grpc.compress(p); err != nil {
		p.failed = err
	}
	return p
}

// Dial opens a lane, which the caller closes. The context applies to dialing only.
func (m *Method) Dial(ctx context.Context) (Conn, error) { return m.grpc.dial(ctx) }

// Invoke calls another method of the server, outside of the load.
func (m *Method) Invoke(ctx context.Context, name string, message []byte) ([]byte, error) {
	l, x := m.grpc.newLane(m.grpc.headOf(name)), Exchange{Keep: true}
	err := l.Do(ctx, m.Prepare(message), &x)
	return x.Body, errors.Join(err, l.Close())
}

// Close closes the connections that lanes share. Close the lanes before.
func (m *Method) Close() error { return m.grpc.close() }

// callLane makes a call of its own for each request: it sends all messages while it receives
// all responses.
type callLane struct{ *grpcLane }

var _ Conn = (*callLane)(nil)

func (l *callLane) Do(ctx context.Context, p *Prepared, x *Exchange) error {
	if err := l.begin(ctx); err != nil {
		return err
	}
	x.resetResponses()
	x.Send, x.Receive = 0, 0
	x.Start = Now()
	err := p.failed
	for attempt := 1; err == nil; attempt++ {
		err = l.exchange(ctx, p, x)
		if err == nil || attempt == attempts || len(x.Responses) > 0 || !errors.Is(err, h2.ErrUnprocessed) {
			break
		}
		err = nil
	}
	x.End = Now()
	if err != nil {
		return l.failure(ctx, err)
	}
	return nil
}

// exchange sends the messages while it receives the responses. The server may end the call before it has read
// everything.
func (l *callLane) exchange(ctx context.Context, p *Prepared, x *Exchange) error {
	conn, err := l.connection(ctx)
	if err != nil {
		return err
	}
	l.request.Stream, l.request.Discard = true, !x.Keep
	next := 0
	following := func() (m h2.Outgoing) {
		if next < len(p.messages) {
			m.Parts, m.Compressed = p.messages[next].parts, p.messages[next].compressed
		}
		next++
		m.Last = next >= len(p.messages)
		return m
	}
	if err := l.call.Start(conn, &l.request, following()); err != nil {
		return err
	}
	sent := false
	for {
		for !sent && l.call.Pump() {
			if sent = next >= len(p.messages); sent {
				x.Send = Now() - x.Start
			} else {
				l.call.Send(following())
			}
		}
		ended := l.call.Ended()
		l.call.Take(&l.inbox)
		for i := range l.inbox.Messages {
			body, err := l.body(i)
			if err != nil {
				l.call.Cancel()
				return err
			}
			x.addResponse(l.inbox.Messages[i].Time)
			if x.Keep {
				x.keep(body, true)
			}
		}
		switch {
		case len(l.inbox.Messages) > 0:
		case ended:
			return l.call.Err()
		default:
			l.call.Wait()
		}
	}
}
