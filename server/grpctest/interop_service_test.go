package grpctest_test

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"
)

// interopService is the service that gRPC's interoperability tests call, as their document describes it.
type interopService struct {
	testpb.UnimplementedTestServiceServer
}

// The metadata that the server sends back.
const (
	interopHeader  = "x-grpc-test-echo-initial"
	interopTrailer = "x-grpc-test-echo-trailing-bin"
)

// echoMetadata returns the metadata for the header and the trailer of an answer.
func echoMetadata(ctx context.Context) (header, trailer metadata.MD) {
	md, _ := metadata.FromIncomingContext(ctx)
	if v := md.Get(interopHeader); len(v) > 0 {
		header = metadata.Pairs(interopHeader, v[0])
	}
	if v := md.Get(interopTrailer); len(v) > 0 {
		trailer = metadata.Pairs(interopTrailer, v[0])
	}
	return header, trailer
}

// echoed returns the status that a request asks for.
func echoed(s *testpb.EchoStatus) error {
	if s.GetCode() == 0 {
		return nil
	}
	return grpcstatus.Error(codes.Code(s.GetCode()), s.GetMessage())
}

func payload(kind testpb.PayloadType, size int32) *testpb.Payload {
	return &testpb.Payload{Type: kind, Body: make([]byte, size)}
}

func (interopService) EmptyCall(context.Context, *testpb.Empty) (*testpb.Empty, error) {
	return &testpb.Empty{}, nil
}

func (interopService) UnaryCall(ctx context.Context, r *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
	header, trailer := echoMetadata(ctx)
	if header != nil {
		if err := grpc.SendHeader(ctx, header); err != nil {
			return nil, err
		}
	}
	if trailer != nil {
		if err := grpc.SetTrailer(ctx, trailer); err != nil {
			return nil, err
		}
	}
	if err := echoed(r.GetResponseStatus()); err != nil {
		return nil, err
	}
	return &testpb.SimpleResponse{Payload: payload(r.GetResponseType(), r.GetResponseSize())}, nil
}

func (interopService) StreamingOutputCall(r *testpb.StreamingOutputCallRequest, s testpb.TestService_StreamingOutputCallServer) error {
	return respond(r, s)
}

// respond sends the responses that a request asks for.
func respond(r *testpb.StreamingOutputCallRequest, s interface {
	Send(*testpb.StreamingOutputCallResponse) error
},
) error {
	for _, p := range r.GetResponseParameters() {
		if err := s.Send(&testpb.StreamingOutputCallResponse{Payload: payload(r.GetResponseType(), p.GetSize())}); err != nil {
			return err
		}
	}
	return nil
}

func (interopService) StreamingInputCall(s testpb.TestService_StreamingInputCallServer) error {
	sum := 0
	for {
		r, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return s.SendAndClose(&testpb.StreamingInputCallResponse{AggregatedPayloadSize: int32(sum)})
		}
		if err != nil {
			return err
		}
		sum += len(r.GetPayload().GetBody())
	}
}

func (interopService) FullDuplexCall(s testpb.TestService_FullDuplexCallServer) error {
	header, trailer := echoMetadata(s.Context())
	if header != nil {
		if err := s.SendHeader(header); err != nil {
			return err
		}
	}
	s.SetTrailer(trailer)
	for {
		r, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := echoed(r.GetResponseStatus()); err != nil {
			return err
		}
		if err := respond(r, s); err != nil {
			return err
		}
	}
}

func (interopService) HalfDuplexCall(s testpb.TestService_HalfDuplexCallServer) error {
	var all []*testpb.StreamingOutputCallRequest
	for {
		r, err := s.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		all = append(all, r)
	}
	for _, r := range all {
		if err := respond(r, s); err != nil {
			return err
		}
	}
	return nil
}
