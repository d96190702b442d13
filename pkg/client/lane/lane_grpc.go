package lane

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"

	"triton/pkg/client/internal/wire"
)

// grpcLane sends prepared messages over a connection that it may share.
type grpcLane struct {
	client *grpcClient
	conn   *sharedConn
	codec  []grpc.CallOption // and the compression
	out    outgoing

	// call is the context of the calls, derived from Do's; Close cancels it. One
	// context for many calls costs nothing per request.
	call context.Context
	done <-chan struct{} // of Do's context
	mu   struct {
		sync.Mutex
		cancel context.CancelFunc
		closed bool
	}
}

var _ Conn = (*grpcLane)(nil)

// dial waits for the connection, so that the first request does not include it.
func (c *grpcClient) dial(ctx context.Context) (Conn, error) {
	s, err := c.acquire()
	if err != nil {
		return nil, err
	}
	connect(ctx, s.ClientConn)
	if err := ctx.Err(); err != nil {
		return nil, errors.Join(err, c.release(s))
	}
	l := &grpcLane{client: c, conn: s, codec: []grpc.CallOption{grpc.ForceCodecV2(rawCodec{})}}
	if c.compression != "" {
		l.codec = append(l.codec, grpc.UseCompressor(c.compression))
	}
	switch {
	case c.streaming:
		return &streamLane{grpcLane: l}, nil
	case c.bidirectional:
		return &callLane{l}, nil
	}
	return l, nil
}

var errClosed = errors.New("the lane was closed")

func (l *grpcLane) Do(ctx context.Context, p *Prepared, x *Exchange) error {
	if l.call == nil || ctx.Done() != l.done {
		if err := l.bind(ctx); err != nil {
			return err
		}
	}
	x.Send, x.Receive = 0, 0
	l.out.prepare(p, x)
	x.Start = Now()
	// A stream of its own for each call would cost a goroutine per request.
	err := l.conn.Invoke(l.call, l.client.method, &l.out, x, l.codec...)
	x.End = Now()
	if l.out.taken != 0 {
		x.Send = l.out.taken - x.Start
	}
	if err == nil {
		return nil
	}
	if ctx.Err() == nil && l.isClosed() {
		return errClosed
	}
	return wire.RPCError(ctx, err)
}

// bind derives the context of the next calls from ctx.
func (l *grpcLane) bind(ctx context.Context) error {
	call, cancel := context.WithCancel(l.client.outgoing(ctx))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.closed {
		cancel()
		return errClosed
	}
	if l.mu.cancel != nil {
		l.mu.cancel()
	}
	l.call, l.done, l.mu.cancel = call, ctx.Done(), cancel
	return nil
}

func (l *grpcLane) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.closed
}

func (l *grpcLane) Close() error {
	l.mu.Lock()
	again, cancel := l.mu.closed, l.mu.cancel
	l.mu.closed, l.mu.cancel = true, nil
	l.mu.Unlock()
	if again {
		return nil
	}
	if cancel != nil {
		cancel()
	}
	return l.client.release(l.conn)
}

// outgoing is the message of one call.
type outgoing struct {
	message  mem.BufferSlice
	sequence []byte // the parameters of the sequence
	taken    int64  // Now when gRPC took the message to send it; 0 until then
}

// prepare sets the message to a prepared one, followed by the parameters of the sequence.
func (o *outgoing) prepare(p *Prepared, x *Exchange) {
	o.message, o.taken = p.message, 0
	if p.addSequence {
		o.sequence = appendSequenceProto(o.sequence[:0], x.Sequence)
		o.message = append(p.message[:len(p.message):len(p.message)], mem.SliceBuffer(o.sequence))
	}
}

// rawCodec passes prepared bytes through and copies a response only if Keep is
// set.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	o, ok := v.(*outgoing)
	if !ok {
		return nil, fmt.Errorf("lane: cannot send a %T", v)
	}
	o.taken = Now()
	return o.message, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	switch v := v.(type) {
	case *Exchange:
		if v.Keep {
			begin := Now()
			v.Body = append(v.Body[:0], data.Materialize()...)
			v.Receive = Now() - begin
		}
		return nil
	case *incoming:
		return v.unmarshal(data)
	case *received:
		if v.keep {
			v.body = append(v.body[:0], data.Materialize()...)
		}
		return nil
	}
	return fmt.Errorf("lane: cannot receive into a %T", v)
}

func (in *incoming) unmarshal(data mem.BufferSlice) (err error) {
	b := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer b.Free()
	in.message, err = readStreamMessage(b.ReadOnlyData())
	if in.keep {
		in.body = append(in.body[:0], in.message.response...)
	}
	in.message.response = nil
	return err
}
