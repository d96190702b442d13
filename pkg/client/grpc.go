package client

import (
	"context"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"triton/pkg/client/internal/wire"
	"triton/pkg/inferencepb"
)

// grpcTransport sends all calls over one connection.
type grpcTransport struct {
	headers []string // names and values, as metadata.AppendToOutgoingContext takes them
	dial    func() (*grpc.ClientConn, error)
}

func newGRPC(o Options) (*grpcTransport, error) {
	target, err := wire.ParseGRPC(o.Address, o.TLS)
	if err != nil {
		return nil, err
	}
	t := &grpcTransport{dial: sync.OnceValues(target.Dial)}
	for name, value := range o.Headers {
		t.headers = append(t.headers, name, value)
	}
	return t, nil
}

func (t *grpcTransport) outgoing(ctx context.Context) context.Context {
	if len(t.headers) == 0 {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, t.headers...)
}

func (t *grpcTransport) call(ctx context.Context, method string, req, resp proto.Message) error {
	cc, err := t.dial()
	if err != nil {
		return err
	}
	if err := cc.Invoke(t.outgoing(ctx), method, req, resp); err != nil {
		return wire.RPCError(ctx, err)
	}
	return nil
}

func (t *grpcTransport) infer(ctx context.Context, req *Request) (*Response, error) {
	m, err := encodeRPC(req)
	if err != nil {
		return nil, err
	}
	resp := &inferencepb.ModelInferResponse{}
	if err := t.call(ctx, inferencepb.GRPCInferenceService_ModelInfer_FullMethodName, m, resp); err != nil {
		return nil, err
	}
	return decodeRPC(resp)
}

func (t *grpcTransport) close() error {
	cc, err := t.dial()
	if err != nil {
		return nil //nolint:nilerr // there is no connection to close
	}
	return cc.Close()
}
