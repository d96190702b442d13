// Package grpcapi is the gRPC frontend: the inference service, health and reflection
// over infer.Service. It does not validate requests against models, open ports or read
// flags.
package grpcapi

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve/rpc"
	"triton/server/frontend"
	"triton/server/infer"
	"triton/server/shm"
)

// Register adds the services to a server made by NewServer.
func Register(server reflection.GRPCServer, svc infer.Service, opts Options) {
	if opts.Regions == nil {
		opts.Regions = shm.New(shm.Options{})
	}
	s := bounded{server, &opts}
	desc := serviceDesc()
	s.RegisterService(&desc, &service{
		svc: svc, opts: opts, panics: panics{opts.Log}, restrictions: newRestrictions(&opts.Restricted), codec: rpc.NewCodec(opts.Pool),
		tracing: frontend.GRPCTracing(opts.Tracer, opts.Log),
	})
	grpc_health_v1.RegisterHealthServer(s, &health{svc: svc, every: opts.HealthInterval})
	reflection.Register(s)
}

// serviceDesc returns the generated descriptor with handlers of the inference calls that do
// not use the generated messages.
func serviceDesc() grpc.ServiceDesc {
	desc := inferencepb.GRPCInferenceService_ServiceDesc
	methods := make([]grpc.MethodDesc, 0, len(desc.Methods))
	for _, m := range desc.Methods {
		if "/"+desc.ServiceName+"/"+m.MethodName != rpc.ModelInfer {
			methods = append(methods, m)
		}
	}
	desc.Methods = methods
	desc.Streams = []grpc.StreamDesc{
		// A stream description that streams in neither direction is a unary call whose handler receives and
		// sends the messages itself. grpc-go calls no interceptor for it (processStreamingRPC).
		{StreamName: "ModelInfer", Handler: modelInfer},
		{StreamName: "ModelStreamInfer", Handler: modelStreamInfer, ServerStreams: true, ClientStreams: true},
	}
	return desc
}

// service answers the calls of GRPCInferenceService.
type service struct {
	inferencepb.UnimplementedGRPCInferenceServiceServer
	svc          infer.Service
	opts         Options
	panics       panics
	restrictions restrictions
	codec        *rpc.Codec
	tracing      frontend.Tracing
}

var _ inferencepb.GRPCInferenceServiceServer = (*service)(nil)
