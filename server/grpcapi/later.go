package grpcapi

import (
	"context"

	"google.golang.org/grpc"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
)

// The calls that this server does not answer yet.

func unsupported(call string) error {
	return failure(status.New(status.Unsupported, "%s is not supported by this version of the server", call))
}

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

func (s *service) SystemSharedMemoryStatus(
	context.Context, *inferencepb.SystemSharedMemoryStatusRequest,
) (*inferencepb.SystemSharedMemoryStatusResponse, error) {
	return nil, unsupported("SystemSharedMemoryStatus")
}

func (s *service) SystemSharedMemoryRegister(
	context.Context, *inferencepb.SystemSharedMemoryRegisterRequest,
) (*inferencepb.SystemSharedMemoryRegisterResponse, error) {
	return nil, unsupported("SystemSharedMemoryRegister")
}

func (s *service) SystemSharedMemoryUnregister(
	context.Context, *inferencepb.SystemSharedMemoryUnregisterRequest,
) (*inferencepb.SystemSharedMemoryUnregisterResponse, error) {
	return nil, unsupported("SystemSharedMemoryUnregister")
}

func (s *service) CudaSharedMemoryStatus(
	context.Context, *inferencepb.CudaSharedMemoryStatusRequest,
) (*inferencepb.CudaSharedMemoryStatusResponse, error) {
	return nil, unsupported("CudaSharedMemoryStatus")
}

func (s *service) CudaSharedMemoryRegister(
	context.Context, *inferencepb.CudaSharedMemoryRegisterRequest,
) (*inferencepb.CudaSharedMemoryRegisterResponse, error) {
	return nil, unsupported("CudaSharedMemoryRegister")
}

func (s *service) CudaSharedMemoryUnregister(
	context.Context, *inferencepb.CudaSharedMemoryUnregisterRequest,
) (*inferencepb.CudaSharedMemoryUnregisterResponse, error) {
	return nil, unsupported("CudaSharedMemoryUnregister")
}

func (s *service) TraceSetting(
	context.Context, *inferencepb.TraceSettingRequest,
) (*inferencepb.TraceSettingResponse, error) {
	return nil, unsupported("TraceSetting")
}

func (s *service) LogSettings(
	context.Context, *inferencepb.LogSettingsRequest,
) (*inferencepb.LogSettingsResponse, error) {
	return nil, unsupported("LogSettings")
}

func (s *service) ModelStreamInfer(
	grpc.BidiStreamingServer[inferencepb.ModelInferRequest, inferencepb.ModelStreamInferResponse],
) error {
	return unsupported("ModelStreamInfer")
}
