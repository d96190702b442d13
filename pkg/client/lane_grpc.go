package client

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/mem"

	"triton/pkg/inferencepb"
)

// grpcLane sends prepared messages over a connection that it may share.
type grpcLane struct {
	client *grpcClient
	conn   *grpc.ClientConn
	codec  []grpc.CallOption
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
}

var _ Conn = (*grpcLane)(nil)

// Dial waits until the connection stands, so that the first request does not
// pay for it.
func (c *grpcClient) Dial(ctx context.Context) (Conn, error) {
	c.mu.Lock()
	i := c.mu.used / c.perConn
	c.mu.used++
	c.mu.Unlock()
	cc, err := c.conn(i)
	if err != nil {
		return nil, err
	}
	connect(ctx, cc)
	l := &grpcLane{client: c, conn: cc, codec: []grpc.CallOption{grpc.ForceCodecV2(rawCodec{})}}
	l.ctx, l.cancel = context.WithCancel(c.outgoing(context.WithoutCancel(ctx)))
	return l, nil
}

// connect waits for the connection, or for its first failure: the request will
// tell of that.
func connect(ctx context.Context, cc *grpc.ClientConn) {
	cc.Connect()
	for {
		s := cc.GetState()
		if s == connectivity.Ready || s == connectivity.TransientFailure || s == connectivity.Shutdown || !cc.WaitForStateChange(ctx, s) {
			return
		}
	}
}

func (l *grpcLane) Do(ctx context.Context, p *Prepared, x *Exchange) error {
	x.Send, x.Receive = 0, 0
	x.Start = Now()
	// The lane's own context is the one that Close ends: one per lane costs
	// nothing per request.
	err := l.conn.Invoke(l.ctx, inferencepb.GRPCInferenceService_ModelInfer_FullMethodName, p, x, l.codec...)
	x.End = Now()
	if err != nil {
		if ctx.Err() == nil && l.ctx.Err() != nil {
			return errors.New("the lane was closed")
		}
		return rpcError(ctx, err)
	}
	return nil
}

func (l *grpcLane) Close() error {
	l.cancel()
	return nil
}

// rawCodec hands prepared bytes through and copies an answer only when it is
// to be kept.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	p, ok := v.(*Prepared)
	if !ok {
		return nil, fmt.Errorf("client: cannot send a %T", v)
	}
	return p.message, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	x, ok := v.(*Exchange)
	if !ok {
		return fmt.Errorf("client: cannot receive into a %T", v)
	}
	if x.Keep {
		begin := Now()
		x.Body = append(x.Body[:0], data.Materialize()...)
		x.Receive = Now() - begin
	}
	return nil
}
