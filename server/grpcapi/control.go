package grpcapi

import (
	"context"

	"triton/pkg/inferencepb"
)

func (s *service) RepositoryModelLoad(
	context.Context, *inferencepb.RepositoryModelLoadRequest,
) (*inferencepb.RepositoryModelLoadResponse, error) {
	return nil, unsupported("RepositoryModelLoad")
}

func (s *service) RepositoryModelUnload(
	context.Context, *inferencepb.RepositoryModelUnloadRequest,
) (*inferencepb.RepositoryModelUnloadResponse, error) {
	return nil, unsupported("RepositoryModelUnload")
}
