package grpcapi

import (
	"google.golang.org/grpc"

	"triton/pkg/inferencepb"
)

func (s *service) ModelStreamInfer(
	grpc.BidiStreamingServer[inferencepb.ModelInferRequest, inferencepb.ModelStreamInferResponse],
) error {
	return unsupported("ModelStreamInfer")
}
