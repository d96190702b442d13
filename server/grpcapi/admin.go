package grpcapi

import (
	"context"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/server/frontend"
	"triton/server/infer"
)

var (
	errExiting  = status.New(status.Unavailable, "Server exiting")
	errNotReady = status.New(status.Unavailable, "Server not ready")
)

// checkOpen returns an error if the server does not accept calls.
func (s *service) checkOpen() error {
	if s.svc.Exiting() || !s.svc.Live() {
		return statusError(errNotReady)
	}
	return nil
}

func (s *service) ServerLive(context.Context, *inferencepb.ServerLiveRequest) (*inferencepb.ServerLiveResponse, error) {
	if s.svc.Exiting() {
		return nil, statusError(errExiting)
	}
	return &inferencepb.ServerLiveResponse{Live: s.svc.Live()}, nil
}

func (s *service) ServerReady(context.Context, *inferencepb.ServerReadyRequest) (*inferencepb.ServerReadyResponse, error) {
	if s.svc.Exiting() {
		return nil, statusError(errExiting)
	}
	return &inferencepb.ServerReadyResponse{Ready: s.svc.Ready()}, nil
}

func (s *service) ModelReady(_ context.Context, r *inferencepb.ModelReadyRequest) (*inferencepb.ModelReadyResponse, error) {
	if err := s.checkOpen(); err != nil {
		return nil, err
	}
	ready, err := s.svc.ModelReady(r.GetName(), r.GetVersion())
	if err != nil {
		return nil, statusError(err)
	}
	return &inferencepb.ModelReadyResponse{Ready: ready}, nil
}

func (s *service) ServerMetadata(
	context.Context, *inferencepb.ServerMetadataRequest,
) (*inferencepb.ServerMetadataResponse, error) {
	return s.svc.Metadata(), nil
}

func (s *service) ModelMetadata(
	ctx context.Context, r *inferencepb.ModelMetadataRequest,
) (*inferencepb.ModelMetadataResponse, error) {
	m, err := s.describe(ctx, r.GetName(), r.GetVersion())
	if err != nil {
		return nil, err
	}
	defer m.Release()
	return m.Metadata(), nil
}

func (s *service) ModelConfig(
	ctx context.Context, r *inferencepb.ModelConfigRequest,
) (*inferencepb.ModelConfigResponse, error) {
	m, err := s.describe(ctx, r.GetName(), r.GetVersion())
	if err != nil {
		return nil, err
	}
	defer m.Release()
	return &inferencepb.ModelConfigResponse{Config: m.Config()}, nil
}

// describe describes a model version that need not be loaded. The error is the status of the call.
func (s *service) describe(ctx context.Context, name, version string) (infer.Description, error) {
	if err := s.checkOpen(); err != nil {
		return nil, err
	}
	m, err := infer.Describe(ctx, s.svc, name, version)
	if err != nil {
		return nil, statusError(err)
	}
	return m, nil
}

func (s *service) ModelStatistics(
	ctx context.Context, r *inferencepb.ModelStatisticsRequest,
) (*inferencepb.ModelStatisticsResponse, error) {
	if err := s.checkOpen(); err != nil {
		return nil, err
	}
	stats, err := s.svc.Statistics(r.GetName(), r.GetVersion())
	if err != nil {
		return nil, statusError(err)
	}
	return visibleStatistics(ctx, stats), nil
}

func (s *service) RepositoryIndex(
	ctx context.Context, r *inferencepb.RepositoryIndexRequest,
) (*inferencepb.RepositoryIndexResponse, error) {
	if r.GetRepositoryName() != "" {
		return nil, statusError(frontend.ErrRepositoryName)
	}
	if err := frontend.CheckIndex(s.svc); err != nil {
		return nil, statusError(err)
	}
	if err := s.checkOpen(); err != nil {
		return nil, err
	}
	return visible(ctx, s.svc.Index(r.GetReady())), nil
}
