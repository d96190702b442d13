package grpcapi

import (
	"context"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"

	"triton/server/infer"
)

// health is the standard health service. Services named "models/<model>" or
// "models/<model>/versions/<version>", as in the paths of HTTP, are models. Like Triton it
// answers for the server as a whole whatever other service the client names.
type health struct {
	grpc_health_v1.UnimplementedHealthServer
	svc   infer.Service
	every time.Duration
}

// modelOf returns the model and version that a service's name stands for.
func modelOf(service string) (model, version string, ok bool) {
	model, ok = strings.CutPrefix(service, "models/")
	if i := strings.LastIndex(model, "/versions/"); i >= 0 {
		model, version = model[:i], model[i+len("/versions/"):]
	}
	return model, version, ok && model != ""
}

// status returns the status of a service. A model that the server does not know does not serve.
func (h *health) status(service string) grpc_health_v1.HealthCheckResponse_ServingStatus {
	model, version, ok := modelOf(service)
	var ready bool
	if ok {
		ready, _ = h.svc.ModelReady(model, version)
	} else {
		ready = h.svc.Ready()
	}
	if ready {
		return grpc_health_v1.HealthCheckResponse_SERVING
	}
	return grpc_health_v1.HealthCheckResponse_NOT_SERVING
}

// Check reports whether the server, or a model, is ready.
func (h *health) Check(
	_ context.Context, r *grpc_health_v1.HealthCheckRequest,
) (*grpc_health_v1.HealthCheckResponse, error) {
	if h.svc.Exiting() {
		return nil, statusError(errExiting)
	}
	return &grpc_health_v1.HealthCheckResponse{Status: h.status(r.GetService())}, nil
}

// Watch sends the status now and at every change, until the server exits or the caller loses the
// right to it.
func (h *health) Watch(
	r *grpc_health_v1.HealthCheckRequest, stream grpc.ServerStreamingServer[grpc_health_v1.HealthCheckResponse],
) error {
	admitted := permissionOf(stream.Context())
	if model, version, ok := modelOf(r.GetService()); ok && admitted != nil {
		ofModel, entry, err := admitted.admitHealth(stream.Context(), model, version)
		if err != nil {
			return statusError(err)
		}
		defer entry.End("", "")
		admitted = ofModel
	}
	tick := time.NewTicker(h.every)
	defer tick.Stop()
	sent := grpc_health_v1.HealthCheckResponse_UNKNOWN
	for {
		if h.svc.Exiting() {
			return statusError(errExiting)
		}
		if err := admitted.check(stream.Context()); err != nil {
			return statusError(err)
		}
		if now := h.status(r.GetService()); now != sent {
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
