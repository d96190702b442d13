package lane

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	"triton/pkg/client/internal/wire"
	"triton/pkg/inferencepb"
	"triton/pkg/status"
)

// streamLane sends prepared messages over a stream of its own, and receives all responses of
// a request before the next one is sent.
type streamLane struct {
	*grpcLane
	stream grpc.ClientStream
	in     incoming
}

var _ Conn = (*streamLane)(nil)

// incoming is a message of the stream.
type incoming struct {
	keep    bool
	body    []byte // the response, if keep is set
	message streamMessage
}

func (l *streamLane) Do(ctx context.Context, p *Prepared, x *Exchange) error {
	if l.stream == nil || ctx.Done() != l.done {
		if err := l.open(ctx); err != nil {
			return l.failure(ctx, err)
		}
	}
	l.out.prepare(p, x)
	x.Send, x.Receive = 0, 0
	x.resetResponses()
	x.Start = Now()
	if err := l.stream.SendMsg(&l.out); err != nil && !errors.Is(err, io.EOF) { // after EOF RecvMsg has the reason
		return l.failure(ctx, err)
	}
	x.Send = Now() - x.Start
	err := l.receive(x)
	x.End = Now()
	if err != nil {
		return l.failure(ctx, err)
	}
	return nil
}

// open opens a stream in a context of its own.
func (l *streamLane) open(ctx context.Context) (err error) {
	if err := l.bind(ctx); err != nil {
		return err
	}
	l.stream, err = l.conn.NewStream(l.call, &inferencepb.GRPCInferenceService_ServiceDesc.Streams[0],
		inferencepb.GRPCInferenceService_ModelStreamInfer_FullMethodName, l.codec...)
	return err
}

// receive receives the responses of a request, up to the final one.
func (l *streamLane) receive(x *Exchange) error {
	l.in.keep = x.Keep
	for {
		if err := l.stream.RecvMsg(&l.in); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		m := &l.in.message
		x.addResponse(Now())
		if m.failure != "" {
			return &status.Error{Code: status.Unknown, Msg: m.failure}
		}
		x.EmptyFinal = m.final && !m.outputs
		if x.Keep {
			x.keep(l.in.body, m.outputs)
		}
		if m.final {
			return nil
		}
	}
}

// failure returns the error of a request. After an error that is the final response of the
// request the stream goes on; after any other error the next request opens another stream.
func (l *streamLane) failure(ctx context.Context, err error) error {
	var refused *status.Error
	if errors.As(err, &refused) {
		if !l.in.message.final {
			l.stream = nil // the other responses would belong to the next request
		}
		return err
	}
	l.stream = nil
	if ctx.Err() == nil && l.isClosed() {
		return errClosed
	}
	return wire.RPCError(ctx, err)
}
