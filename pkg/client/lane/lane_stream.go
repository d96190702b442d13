package lane

import (
	"context"
	"errors"
	"io"

	"triton/pkg/client/internal/h2"
	"triton/pkg/client/internal/wire"
	"triton/pkg/status"
)

// streamLane sends prepared messages over a stream of its own, and receives all responses of
// a request before the next one is sent.
type streamLane struct {
	*grpcLane
	open    bool
	next    int // message of the inbox
	message streamMessage
}

var _ Conn = (*streamLane)(nil)

func (l *streamLane) Do(ctx context.Context, p *Prepared, x *Exchange) error {
	if l.open && (ctx.Done() != l.watch.done || l.call.Draining()) {
		l.leave() // a stream ends with its context; a server that ends waits for it
	}
	if err := l.begin(ctx); err != nil {
		return err
	}
	x.Send, x.Receive = 0, 0
	x.resetResponses()
	m, err := l.outgoing(p, x)
	if err == nil {
		err = l.exchange(ctx, m, x)
	}
	x.End = Now()
	if err != nil {
		return l.failure(ctx, err)
	}
	if n := len(x.Responses); n > 0 {
		x.End = x.Responses[n-1]
	}
	return nil
}

// leave ends the stream; the next request opens another.
func (l *streamLane) leave() {
	l.call.CloseSend()
	l.call.Cancel()
	l.open, l.next, l.inbox.Messages = false, 0, l.inbox.Messages[:0]
}

// exchange sends a request and receives its responses. One that the server has not processed is sent again on
// another stream.
func (l *streamLane) exchange(ctx context.Context, m h2.Outgoing, x *Exchange) error {
	for attempt := 1; ; attempt++ {
		opened := !l.open
		err := l.send(ctx, m, x)
		if err == nil {
			err = l.receive(x)
		}
		if err == nil || attempt == attempts || !opened || len(x.Responses) > 0 || !errors.Is(err, h2.ErrUnprocessed) {
			return err
		}
		l.leave()
	}
}

func (l *streamLane) send(ctx context.Context, m h2.Outgoing, x *Exchange) error {
	if l.open {
		x.Start = Now()
		l.call.Send(m)
		return nil
	}
	x.Start = Now()
	conn, err := l.connection(ctx)
	if err != nil {
		return err
	}
	l.request.Stream = true
	x.Start = Now() // connecting does not count
	if err := l.call.Start(conn, &l.request, m); err != nil {
		return err
	}
	l.open = true
	return nil
}

// receive receives the responses of a request, up to the final one.
func (l *streamLane) receive(x *Exchange) error {
	sent := false
	for {
		if !sent && l.call.Pump() {
			sent, x.Send = true, Now()-x.Start
		}
		for l.next < len(l.inbox.Messages) {
			i := l.next
			l.next++
			if err := l.handle(i, x); err != nil || l.message.final {
				return err
			}
		}
		ended := l.call.Ended()
		l.call.Take(&l.inbox)
		l.next = 0
		switch {
		case len(l.inbox.Messages) > 0:
		case !ended:
			l.call.Wait()
		case l.call.Err() != nil:
			return l.call.Err()
		default:
			return io.ErrUnexpectedEOF
		}
	}
}

// handle handles message i of the inbox.
func (l *streamLane) handle(i int, x *Exchange) (err error) {
	body, err := l.body(i)
	if err != nil {
		return err
	}
	if l.message, err = readStreamMessage(body); err != nil {
		return err
	}
	m := &l.message
	x.addResponse(l.inbox.Messages[i].Time)
	if m.failure != "" {
		return &status.Error{Code: status.Unknown, Msg: m.failure}
	}
	x.EmptyFinal = m.final && !m.outputs
	if x.Keep {
		x.keep(m.response, m.outputs)
	}
	m.response = nil
	return nil
}

// body returns message i of the inbox, which is valid until the next one.
func (l *grpcLane) body(i int) ([]byte, error) {
	begin, m := 0, &l.inbox.Messages[i]
	if i > 0 {
		begin = l.inbox.Messages[i-1].End
	}
	b := l.inbox.Data[begin:m.End]
	if !m.Compressed {
		return b, nil
	}
	var err error
	l.unpacked, err = decompress(l.unpacked[:0], l.call.Encoding(), b)
	return l.unpacked, err
}

// failure returns the error of a request. After an error that is the final response of the
// request the stream goes on; after any other error the next request opens another stream.
func (l *streamLane) failure(ctx context.Context, err error) error {
	var refused *status.Error
	if errors.As(err, &refused) {
		if !l.message.final {
			l.leave() // the other responses would belong to the next request
		}
		return err
	}
	if l.open {
		l.leave()
	}
	if ctx.Err() == nil && l.closed.Load() {
		return errClosed
	}
	return wire.RPCError(ctx, err)
}
