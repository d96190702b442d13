package grpcapi

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"

	"triton/server/infer"
)

// health is the standard health service. Like Triton it answers for the server as a
// whole, whatever service the client names.
type health struct {
	grpc_health_v1.UnimplementedHealthServer
	svc   infer.Service
	every time.Duration
}

func (h *health) status() grpc_health_v1.HealthCheckResponse_ServingStatus {
	if h.svc.Ready() {
		return grpc_health_v1.HealthCheckResponse_SERVING
	}
	return grpc_health_v1.HealthCheckResponse_NOT_SERVING
}

// Check reports whether the server is ready.
func (h *health) Check(
	context.Context, *grpc_health_v1.HealthCheckRequest,
) (*grpc_health_v1.HealthCheckResponse, error) {
	if h.svc.Exiting() {
		return nil, statusError(errExiting)
	}
	return &grpc_health_v1.HealthCheckResponse{Status: h.status()}, nil
}

// Watch sends the status now and at every change, until the server exits.
func (h *health) Watch(
	_ *grpc_health_v1.HealthCheckRequest, stream grpc.ServerStreamingServer[grpc_health_v1.HealthCheckResponse],
) error {
	tick := time.NewTicker(h.every)
	defer tick.Stop()
	sent := grpc_health_v1.HealthCheckResponse_UNKNOWN
	for {
		if h.svc.Exiting() {
			return statusError(errExiting)
		}
		if now := h.status(); now != sent {
			if err := stream.Send(&grpc_health_v1.HealthCheckResponse{Status: now}); err != nil {
				return err
			}
			sent = now
		}
		select {
		case <-tick.C:
		case <-stream.Context().Done():
			return context.Cause(stream.Context())
		}
	}
}
