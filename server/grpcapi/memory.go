package grpcapi

import (
	"context"

	"triton/pkg/inferencepb"
)

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
