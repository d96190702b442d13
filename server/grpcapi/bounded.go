package grpcapi

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/reflection"
	"google.golang.org/protobuf/proto"

	"triton/server/memory"
)

// maxAdmin limits, in bytes, the messages of all calls except inference and those that
// load models: a generated message may take many times the memory of its encoded bytes.
const maxAdmin = 4 << 20

// bounded registers services whose messages are read within the memory budgets.
type bounded struct {
	reflection.GRPCServer
	opts *Options
}

// RegisterService registers a unary method as a stream of one message in each direction, whose
// handler reads the message itself.
func (b bounded) RegisterService(desc *grpc.ServiceDesc, impl any) {
	d := *desc
	d.Methods = nil
	d.Streams = append([]grpc.StreamDesc(nil), desc.Streams...)
	for _, m := range desc.Methods {
		d.Streams = append(d.Streams, grpc.StreamDesc{StreamName: m.MethodName, Handler: b.unary(desc.ServiceName, m)})
	}
	b.GRPCServer.RegisterService(&d, impl)
}

// unary returns the handler of a unary method, for which gRPC calls no interceptor: see serviceDesc.
func (b bounded) unary(service string, m grpc.MethodDesc) grpc.StreamHandler {
	a := newAdmin(b.opts)
	method := "/" + service + "/" + m.MethodName
	limit := b.opts.limitOf(m.MethodName)
	return func(srv any, conn grpc.ServerStream) error {
		in := messageReader{single: true}
		defer in.end()
		ctx, open := conn.Context(), true
		var granted *permission
		if a.opts.checksCallers() {
			granted = a.opts.begin(ctx, method)
			defer granted.leave()
			ctx, open = context.WithValue(ctx, permissionKey{}, granted), granted.refusal == nil
		}
		read := func(v any) error {
			if !open || a.restrictions.check(ctx, method) != nil {
				return nil // the call is refused without reading its message
			}
			if err := in.begin(conn.Context(), limit, granted); err != nil {
				return err
			}
			return in.unmarshal(v)
		}
		reply, err := m.Handler(srv, ctx, read, a.unary)
		if err != nil {
			return err
		}
		replied := b.opts.Memory.NewCharge(memory.Replies)
		replied.For(granted.account())
		defer replied.End()
		if m, ok := reply.(proto.Message); ok {
			if n := proto.Size(m); n > memory.Uncounted {
				if err := replied.Take(2 * n); err != nil { // and the message that is sent
					return statusError(err)
				}
			}
		}
		return conn.SendMsg(reply)
	}
}

// limitOf returns the size of the largest message of a call that is not an inference.
func (o *Options) limitOf(method string) int {
	if method == "RepositoryModelLoad" {
		return o.MaxReceive
	}
	return min(o.MaxReceive, maxAdmin)
}

// boundedStream reads the messages of a stream within the memory budgets, one at a
// time.
type boundedStream struct {
	grpc.ServerStream
	reader  messageReader
	clients bool // the client may send several messages
	context context.Context
}

// Context returns the context of the call.
func (s *boundedStream) Context() context.Context {
	if s.context != nil {
		return s.context
	}
	return s.ServerStream.Context()
}

func newBoundedStream(conn grpc.ServerStream, o *Options, clients bool) (*boundedStream, error) {
	s := &boundedStream{ServerStream: conn, clients: clients}
	return s, s.reader.begin(conn.Context(), o.limitOf(""), nil)
}

// RecvMsg is called by generated code.
func (s *boundedStream) RecvMsg(v any) error {
	s.reader.charge.end() // of the previous message
	if !s.clients {
		return s.reader.unmarshal(v)
	}
	if err := s.reader.next(); err != nil {
		return err
	}
	return s.reader.decode(v)
}
