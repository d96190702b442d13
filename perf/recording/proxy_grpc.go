package recording

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"triton/pkg/kserve"
	"triton/pkg/kserve/rpc"
	"triton/pkg/tensor"
)

// The methods whose messages are recorded.
const (
	modelInfer       = "/inference.GRPCInferenceService/ModelInfer"
	modelStreamInfer = "/inference.GRPCInferenceService/ModelStreamInfer"
)

// GRPC returns a server that forwards every call to a server. Its messages may have maxMessage
// bytes. The caller serves it and stops it.
func (r *Recorder) GRPC(server *grpc.ClientConn, maxMessage int) *grpc.Server {
	p := &grpcProxy{recorder: r, server: server, codec: rpc.NewCodec(tensor.NewPool()), max: maxMessage}
	return grpc.NewServer(grpc.ForceServerCodecV2(frames{}), grpc.UnknownServiceHandler(p.forward),
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage))
}

// frames passes messages on as they are.
type frames struct{}

var _ encoding.CodecV2 = frames{}

// frame is a message.
type frame struct{ data mem.BufferSlice }

func (frames) Name() string { return "proto" }

// Marshal hands over the frame's reference.
func (frames) Marshal(v any) (mem.BufferSlice, error) {
	f, ok := v.(*frame)
	if !ok {
		return nil, status.Errorf(codes.Internal, "a %T is no frame", v)
	}
	return f.data, nil
}

// Unmarshal takes a reference of its own.
func (frames) Unmarshal(data mem.BufferSlice, v any) error {
	f, ok := v.(*frame)
	if !ok {
		return status.Errorf(codes.Internal, "a %T is no frame", v)
	}
	data.Ref()
	f.data = data
	return nil
}

type grpcProxy struct {
	recorder *Recorder
	server   *grpc.ClientConn
	codec    *rpc.Codec
	max      int
}

// forward forwards one call in both directions until it ends.
func (p *grpcProxy) forward(_ any, client grpc.ServerStream) error {
	method, ok := grpc.MethodFromServerStream(client)
	if !ok {
		return status.Error(codes.Internal, "the call has no method")
	}
	ctx, cancel := context.WithCancel(client.Context())
	defer cancel()
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		ctx = metadata.NewOutgoingContext(ctx, md.Copy())
	}
	server, err := p.server.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method,
		grpc.ForceCodecV2(frames{}), grpc.MaxCallRecvMsgSize(p.max), grpc.MaxCallSendMsgSize(p.max))
	if err != nil {
		return err
	}
	// The goroutine ends with the call: when this function returns, RecvMsg fails. Until then a
	// message that was sent is also recorded.
	var passing sync.Mutex
	go p.requests(client, server, &passing, method == modelInfer || method == modelStreamInfer)
	err = responses(server, client)
	passing.Lock()
	defer passing.Unlock()
	return err
}

// requests passes on the messages of the client. Errors end the call on the other side. It holds
// passing while it sends and records a message.
func (p *grpcProxy) requests(client grpc.ServerStream, server grpc.ClientStream, passing *sync.Mutex, record bool) {
	for {
		var f frame
		if err := client.RecvMsg(&f); err != nil {
			if errors.Is(err, io.EOF) {
				_ = server.CloseSend() // its error is that of RecvMsg
			}
			return
		}
		passing.Lock()
		err := p.pass(server, &f, record)
		passing.Unlock()
		if err != nil {
			return
		}
	}
}

// pass sends a message and records it.
func (p *grpcProxy) pass(server grpc.ClientStream, f *frame, record bool) error {
	arrival, data := p.recorder.now(), f.data
	data.Ref() // sending gives the message's reference back
	defer data.Free()
	err := server.SendMsg(f)
	if err == nil && record {
		p.record(data, arrival)
	}
	return err
}

// record records a message that was passed on.
func (p *grpcProxy) record(data mem.BufferSlice, arrival time.Duration) {
	size := int64(data.Len())
	if !p.recorder.hold(size) {
		p.recorder.large.Add(1)
		return
	}
	defer p.recorder.release(size)
	req := &kserve.Request{}
	defer req.Reset()
	r := rpc.Request{Message: req}
	err := p.codec.DecodeRequest(data, &r)
	if err == nil {
		err = r.Err
	}
	if err != nil {
		p.recorder.refuse(err)
		return
	}
	p.recorder.add(arrival, req)
}

// responses passes on the messages and the trailer of the server and returns the status of the call.
func responses(server grpc.ClientStream, client grpc.ServerStream) error {
	first := true
	for {
		var f frame
		err := server.RecvMsg(&f)
		if first {
			first = false
			if md, headerErr := server.Header(); headerErr == nil && len(md) > 0 {
				_ = client.SendHeader(md) // its error is that of SendMsg
			}
		}
		if err != nil {
			client.SetTrailer(server.Trailer())
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := client.SendMsg(&f); err != nil {
			return err
		}
	}
}
