package grpcapi

import (
	"context"

	"triton/pkg/inferencepb"
)

func (s *service) SystemSharedMemoryStatus(
	_ context.Context, r *inferencepb.SystemSharedMemoryStatusRequest,
) (*inferencepb.SystemSharedMemoryStatusResponse, error) {
	all, err := s.opts.Regions.SystemStatus(r.Name)
	if err != nil {
		return nil, failure(err)
	}
	resp := &inferencepb.SystemSharedMemoryStatusResponse{
		Regions: make(map[string]*inferencepb.SystemSharedMemoryStatusResponse_RegionStatus, len(all)),
	}
	for _, m := range all {
		resp.Regions[m.Name] = &inferencepb.SystemSharedMemoryStatusResponse_RegionStatus{
			Name: m.Name, Key: m.Key, Offset: m.Offset, ByteSize: m.Size,
		}
	}
	return resp, nil
}

func (s *service) SystemSharedMemoryRegister(
	_ context.Context, r *inferencepb.SystemSharedMemoryRegisterRequest,
) (*inferencepb.SystemSharedMemoryRegisterResponse, error) {
	if err := s.opts.Regions.RegisterSystem(r.Name, r.Key, r.Offset, r.ByteSize); err != nil {
		return nil, failure(err)
	}
	return &inferencepb.SystemSharedMemoryRegisterResponse{}, nil
}

func (s *service) SystemSharedMemoryUnregister(
	_ context.Context, r *inferencepb.SystemSharedMemoryUnregisterRequest,
) (*inferencepb.SystemSharedMemoryUnregisterResponse, error) {
	if err := s.opts.Regions.UnregisterSystem(r.Name); err != nil {
		return nil, failure(err)
	}
	return &inferencepb.SystemSharedMemoryUnregisterResponse{}, nil
}

func (s *service) CudaSharedMemoryStatus(
	_ context.Context, r *inferencepb.CudaSharedMemoryStatusRequest,
) (*inferencepb.CudaSharedMemoryStatusResponse, error) {
	if err := s.opts.Regions.CUDAStatus(r.Name); err != nil {
		return nil, failure(err)
	}
	return &inferencepb.CudaSharedMemoryStatusResponse{}, nil
}

// CudaSharedMemoryRegister does not look at whether client memory is allowed,
// as Triton without GPUs does not.
func (s *service) CudaSharedMemoryRegister(
	_ context.Context, r *inferencepb.CudaSharedMemoryRegisterRequest,
) (*inferencepb.CudaSharedMemoryRegisterResponse, error) {
	return nil, failure(s.opts.Regions.RegisterCUDA(r.Name))
}

// CudaSharedMemoryUnregister finds nothing, and a name that is not registered is
// no error.
func (s *service) CudaSharedMemoryUnregister(
	context.Context, *inferencepb.CudaSharedMemoryUnregisterRequest,
) (*inferencepb.CudaSharedMemoryUnregisterResponse, error) {
	if err := s.opts.Regions.Allowed(); err != nil {
		return nil, failure(err)
	}
	return &inferencepb.CudaSharedMemoryUnregisterResponse{}, nil
}
