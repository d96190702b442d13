package loadtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
)

// GRPC is a null server for gRPC.
type GRPC struct {
	Address string
	// Fail, when set, returns the error of inference number n, from 1. Set it
	// before the first request.
	Fail func(n uint64) error
	// Decoupled, when set, returns the number of responses to inference number n of a
	// stream; an empty final response follows them. Set it before the first request.
	Decoupled func(n uint64) int

	inferencepb.UnimplementedGRPCInferenceServiceServer
	state    state
	response mem.BufferSlice
	server   *grpc.Server
	wg       sync.WaitGroup
}

// StartGRPC serves on address until Close.
func StartGRPC(address string) (*GRPC, error) {
	a, err := inferResponse()
	if err != nil {
		return nil, fmt.Errorf("null server: %w", err)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("null server: %w", err)
	}
	s := &GRPC{Address: l.Addr().String(), response: mem.BufferSlice{mem.SliceBuffer(a)}}
	s.server = grpc.NewServer(grpc.ForceServerCodecV2(codec{}), grpc.InitialWindowSize(4<<20), grpc.InitialConnWindowSize(16<<20))
	desc := inferencepb.GRPCInferenceService_ServiceDesc
	desc.Methods = append([]grpc.MethodDesc(nil), desc.Methods...)
	for i := range desc.Methods {
		if desc.Methods[i].MethodName == "ModelInfer" {
			desc.Methods[i].Handler = infer
		}
	}
	s.server.RegisterService(&desc, s)
	s.wg.Go(func() { _ = s.server.Serve(l) }) // ends with Close
	return s, nil
}

// Requests returns the number of inferences received.
func (s *GRPC) Requests() uint64 { return s.state.requests.Load() }

// Close ends all connections.
func (s *GRPC) Close() {
	s.server.Stop()
	s.wg.Wait()
}

// raw is a message that is not decoded.
type raw struct{ data mem.BufferSlice }

//nolint:revive // the order of arguments is that of grpc.MethodHandler
func infer(srv any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	s, ok := srv.(*GRPC)
	if !ok {
		return nil, errors.New("not the null server")
	}
	if err := decode(&raw{}); err != nil {
		return nil, err
	}
	n := s.state.requests.Add(1)
	if s.Fail != nil {
		if err := s.Fail(n); err != nil {
			return nil, err
		}
	}
	return &raw{s.response}, nil
}

// ModelStreamInfer answers each request.
func (s *GRPC) ModelStreamInfer(stream inferencepb.GRPCInferenceService_ModelStreamInferServer) error {
	for {
		req, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		n := s.state.requests.Add(1)
		if s.Fail != nil {
			if err := s.Fail(n); err != nil {
				if err := s.refuse(err, stream.Send); err != nil {
					return err
				}
				continue
			}
		}
		if err := s.respond(req, n, stream.Send); err != nil {
			return err
		}
	}
}

// finalResponse returns the parameter that says whether a response is the last one.
func finalResponse(is bool) map[string]*inferencepb.InferParameter {
	return map[string]*inferencepb.InferParameter{"triton_final_response": {ParameterChoice: &inferencepb.InferParameter_BoolParam{BoolParam: is}}}
}

// refuse sends an error. That of a decoupled model is not the final response.
func (s *GRPC) refuse(cause error, send func(*inferencepb.ModelStreamInferResponse) error) error {
	if s.Decoupled == nil {
		return send(&inferencepb.ModelStreamInferResponse{ErrorMessage: cause.Error()})
	}
	first := &inferencepb.ModelInferResponse{Parameters: finalResponse(false)}
	if err := send(&inferencepb.ModelStreamInferResponse{ErrorMessage: cause.Error(), InferResponse: first}); err != nil {
		return err
	}
	return sendFinal(send)
}

func sendFinal(send func(*inferencepb.ModelStreamInferResponse) error) error {
	return send(&inferencepb.ModelStreamInferResponse{InferResponse: &inferencepb.ModelInferResponse{ModelName: Model, ModelVersion: "1", Parameters: finalResponse(true)}})
}

func (s *GRPC) respond(req *inferencepb.ModelInferRequest, n uint64, send func(*inferencepb.ModelStreamInferResponse) error) error {
	count := 1
	if s.Decoupled != nil {
		count = s.Decoupled(n)
	}
	for range count {
		r := response()
		r.Id = req.GetId()
		if s.Decoupled != nil {
			r.Parameters = finalResponse(false)
		}
		if err := send(&inferencepb.ModelStreamInferResponse{InferResponse: r}); err != nil {
			return err
		}
	}
	if s.Decoupled == nil {
		return nil
	}
	return sendFinal(send)
}

// codec passes raw messages through and encodes all others as protobuf.
type codec struct{}

func (codec) Name() string { return "proto" }

func (codec) Marshal(v any) (mem.BufferSlice, error) {
	switch v := v.(type) {
	case *raw:
		return v.data, nil
	case proto.Message:
		b, err := proto.Marshal(v)
		return mem.BufferSlice{mem.SliceBuffer(b)}, err
	}
	return nil, fmt.Errorf("cannot send a %T", v)
}

func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	switch v := v.(type) {
	case *raw:
		return nil
	case proto.Message:
		return proto.Unmarshal(data.Materialize(), v)
	}
	return fmt.Errorf("cannot receive a %T", v)
}

// ServerMetadata returns metadata with the statistics extension.
func (s *GRPC) ServerMetadata(context.Context, *inferencepb.ServerMetadataRequest) (*inferencepb.ServerMetadataResponse, error) {
	m := &inferencepb.ServerMetadataResponse{}
	return m, protojson.Unmarshal([]byte(serverJSON), m)
}

// ModelMetadata returns the metadata of the model.
func (s *GRPC) ModelMetadata(context.Context, *inferencepb.ModelMetadataRequest) (*inferencepb.ModelMetadataResponse, error) {
	m := &inferencepb.ModelMetadataResponse{}
	return m, protojson.Unmarshal([]byte(metadataJSON), m)
}

// ModelConfig returns the configuration of the model.
func (s *GRPC) ModelConfig(context.Context, *inferencepb.ModelConfigRequest) (*inferencepb.ModelConfigResponse, error) {
	m := &inferencepb.ModelConfig{}
	return &inferencepb.ModelConfigResponse{Config: m}, protojson.Unmarshal([]byte(configJSON), m)
}

// ModelStatistics returns statistics derived from the number of inferences.
func (s *GRPC) ModelStatistics(context.Context, *inferencepb.ModelStatisticsRequest) (*inferencepb.ModelStatisticsResponse, error) {
	return s.state.statistics(), nil
}

// ServerLive reports true.
func (s *GRPC) ServerLive(context.Context, *inferencepb.ServerLiveRequest) (*inferencepb.ServerLiveResponse, error) {
	return &inferencepb.ServerLiveResponse{Live: true}, nil
}

// ServerReady reports true.
func (s *GRPC) ServerReady(context.Context, *inferencepb.ServerReadyRequest) (*inferencepb.ServerReadyResponse, error) {
	return &inferencepb.ServerReadyResponse{Ready: true}, nil
}

// ModelReady reports true.
func (s *GRPC) ModelReady(context.Context, *inferencepb.ModelReadyRequest) (*inferencepb.ModelReadyResponse, error) {
	return &inferencepb.ModelReadyResponse{Ready: true}, nil
}

// RepositoryIndex lists the model.
func (s *GRPC) RepositoryIndex(context.Context, *inferencepb.RepositoryIndexRequest) (*inferencepb.RepositoryIndexResponse, error) {
	m := &inferencepb.RepositoryIndexResponse{}
	return m, protojson.Unmarshal([]byte(`{"models":[{"name":"null","version":"1","state":"READY"}]}`), m)
}
