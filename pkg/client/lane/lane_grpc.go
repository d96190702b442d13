package lane

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/encoding"

	"triton/pkg/client/internal/h2"
	"triton/pkg/client/internal/wire"
)

// grpcLane sends prepared messages over a connection that it may share, in frames of its own: grpc-go's
// transport costs several times as much per request with its goroutines, header maps and contexts.
type grpcLane struct {
	client  *grpcClient
	shared  *sharedConn
	call    *h2.Call
	request h2.Request
	inbox   h2.Inbox
	watch   watch
	closed  atomic.Bool
	life    context.Context // until Close
	end     context.CancelFunc

	// failed is the failure of dial, which the first request reports, unless it comes much later.
	failed struct {
		err error
		at  time.Time
	}
	// Memory for a message.
	parts    [][]byte
	sequence []byte // the parameters of the sequence
	packed   []byte
	unpacked []byte
}

var _ Conn = (*grpcLane)(nil)

// dial waits for the connection, so that the first request does not include it.
func (c *grpcClient) dial(ctx context.Context) (Conn, error) {
	l := c.newLane(c.head)
	_, err := l.connection(ctx)
	if ctx.Err() != nil {
		return nil, errors.Join(ctx.Err(), l.Close())
	}
	l.failed.err, l.failed.at = err, time.Now()
	switch {
	case c.streaming:
		return &streamLane{grpcLane: l}, nil
	case c.bidirectional:
		return &callLane{l}, nil
	}
	return l, nil
}

func (c *grpcClient) newLane(head *h2.Head) *grpcLane {
	l := &grpcLane{client: c, shared: c.acquire(), call: h2.NewCall(), request: h2.Request{Head: head}}
	l.life, l.end = context.WithCancel(context.Background())
	return l
}

var errClosed = errors.New("the lane was closed")

// attempts is how often a request is sent that the server certainly has not processed: it was ending the
// connection, or refused the call.
const attempts = 3

func (l *grpcLane) Do(ctx context.Context, p *Prepared, x *Exchange) error {
	if err := l.begin(ctx); err != nil {
		return err
	}
	x.Send, x.Receive = 0, 0
	x.Start = Now()
	if err := l.invoke(ctx, p, x); err != nil {
		x.End = Now()
		return l.failure(ctx, err)
	}
	return nil
}

// begin prepares the lane for a request with ctx.
func (l *grpcLane) begin(ctx context.Context) error {
	switch {
	case l.closed.Load():
		return errClosed
	case l.client.invalid != nil:
		return wire.RPCError(ctx, l.client.invalid)
	}
	if ctx.Done() != l.watch.done {
		if err := l.bind(ctx); err != nil {
			return err
		}
	}
	l.request.Timeout = 0
	if d, ok := ctx.Deadline(); ok {
		if l.request.Timeout = time.Until(d); l.request.Timeout <= 0 {
			return context.DeadlineExceeded
		}
	}
	if err := l.failed.err; err != nil {
		l.failed.err = nil
		if time.Since(l.failed.at) < time.Second {
			return wire.RPCError(ctx, err)
		}
	}
	return nil
}

// bind makes ctx the context whose end interrupts the lane.
func (l *grpcLane) bind(ctx context.Context) error {
	if err := l.watch.bind(ctx, l.call.Interrupt); err != nil {
		return err
	}
	l.call.Resume()
	switch { // Resume may have come after an interrupt
	case ctx.Err() != nil:
		l.call.Interrupt()
		return ctx.Err()
	case l.closed.Load():
		l.call.Interrupt()
		return errClosed
	}
	return nil
}

func (l *grpcLane) failure(ctx context.Context, err error) error {
	if ctx.Err() == nil && l.closed.Load() {
		return errClosed
	}
	return wire.RPCError(ctx, err)
}

// connection returns a connection for a call. Close interrupts it.
func (l *grpcLane) connection(ctx context.Context) (*h2.Conn, error) {
	if c := l.shared.current.Load(); c != nil && c.Usable() {
		return c, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.life, cancel)()
	return l.shared.connection(ctx)
}

func (l *grpcLane) invoke(ctx context.Context, p *Prepared, x *Exchange) error {
	m, err := l.outgoing(p, x)
	if err != nil {
		return err
	}
	m.Last, l.request.Discard = true, !x.Keep
	for attempt := 1; ; attempt++ {
		if err = l.exchange(ctx, m, x); err == nil || attempt == attempts || !errors.Is(err, h2.ErrUnprocessed) {
			return err
		}
	}
}

func (l *grpcLane) exchange(ctx context.Context, m h2.Outgoing, x *Exchange) error {
	conn, err := l.connection(ctx)
	if err != nil {
		return err
	}
	if err := l.call.Start(conn, &l.request, m); err != nil {
		return err
	}
	for !l.call.Pump() {
		l.call.Wait()
	}
	x.Send = Now() - x.Start
	for !l.call.Ended() {
		l.call.Wait()
	}
	x.End = l.call.EndedAt()
	if err := l.call.Err(); err != nil {
		return err
	}
	l.call.Take(&l.inbox)
	return l.receive(x)
}

// receive takes the only response.
func (l *grpcLane) receive(x *Exchange) error {
	compressed := l.inbox.Messages[0].Compressed
	if !x.Keep && !compressed {
		return nil
	}
	begin := Now()
	body := &l.inbox.Data
	if compressed {
		var err error
		if l.unpacked, err = decompress(l.unpacked[:0], l.call.Encoding(), l.inbox.Data); err != nil {
			return err
		}
		body = &l.unpacked
	}
	if x.Keep {
		x.Body, *body = *body, x.Body
	}
	x.Receive = Now() - begin
	x.End += x.Receive
	return nil
}

// outgoing returns a prepared message, followed by the parameters of the sequence.
func (l *grpcLane) outgoing(p *Prepared, x *Exchange) (h2.Outgoing, error) {
	if !p.addSequence {
		if p.failed != nil {
			return h2.Outgoing{}, p.failed
		}
		return h2.Outgoing{Parts: p.message.parts, Compressed: p.message.compressed}, nil
	}
	l.sequence = appendSequenceProto(l.sequence[:0], x.Sequence)
	l.parts = append(append(l.parts[:0], p.message.parts...), l.sequence)
	if l.client.compression == "" {
		return h2.Outgoing{Parts: l.parts}, nil
	}
	var err error
	l.packed, err = compress(l.packed[:0], encoding.GetCompressor(l.client.compression), l.parts)
	l.parts = append(l.parts[:0], l.packed)
	return h2.Outgoing{Parts: l.parts, Compressed: true}, err
}

func (l *grpcLane) Close() error {
	if l.closed.Swap(true) {
		return nil
	}
	l.end()
	l.watch.close()
	l.call.Interrupt()
	l.client.release(l.shared)
	return nil
}
