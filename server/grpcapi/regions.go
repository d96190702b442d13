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
		return nil, statusError(err)
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
		return nil, statusError(err)
	}
	return &inferencepb.SystemSharedMemoryRegisterResponse{}, nil
}

func (s *service) SystemSharedMemoryUnregister(
	_ context.Context, r *inferencepb.SystemSharedMemoryUnregisterRequest,
) (*inferencepb.SystemSharedMemoryUnregisterResponse, error) {
	if err := s.opts.Regions.UnregisterSystem(r.Name); err != nil {
		return nil, statusError(err)
	}
	return &inferencepb.SystemSharedMemoryUnregisterResponse{}, nil
}

func (s *service) CudaSharedMemoryStatus(
	_ context.Context, r *inferencepb.CudaSharedMemoryStatusRequest,
) (*inferencepb.CudaSharedMemoryStatusResponse, error) {
	all, err := s.opts.Regions.CUDAStatus(r.Name)
	if err != nil {
		return nil, statusError(err)
	}
	resp := &inferencepb.CudaSharedMemoryStatusResponse{
		Regions: make(map[string]*inferencepb.CudaSharedMemoryStatusResponse_RegionStatus, len(all)),
	}
	for _, m := range all {
		resp.Regions[m.Name] = &inferencepb.CudaSharedMemoryStatusResponse_RegionStatus{
			Name: m.Name, DeviceId: m.Device, ByteSize: m.Size,
		}
	}
	return resp, nil
}

func (s *service) CudaSharedMemoryRegister(
	_ context.Context, r *inferencepb.CudaSharedMemoryRegisterRequest,
) (*inferencepb.CudaSharedMemoryRegisterResponse, error) {
	// A negative device becomes a number that no device has.
	if err := s.opts.Regions.RegisterCUDA(r.Name, r.RawHandle, uint64(r.DeviceId), r.ByteSize); err != nil {
		return nil, statusError(err)
	}
	return &inferencepb.CudaSharedMemoryRegisterResponse{}, nil
}

func (s *service) CudaSharedMemoryUnregister(
	_ context.Context, r *inferencepb.CudaSharedMemoryUnregisterRequest,
) (*inferencepb.CudaSharedMemoryUnregisterResponse, error) {
	if err := s.opts.Regions.UnregisterCUDA(r.Name); err != nil {
		return nil, statusError(err)
	}
	return &inferencepb.CudaSharedMemoryUnregisterResponse{}, nil
}
