package client

import (
	"context"
	"sort"

	"triton/pkg/inferencepb"
)

// SystemRegion is a region of POSIX shared memory.
type SystemRegion struct {
	Name string // the name in requests
	Key  string // for shm_open, such as /input
	// Offset and Size are the region's part of the object, in bytes.
	Offset, Size uint64
}

// CUDARegion is a region of GPU memory.
type CUDARegion struct {
	Name   string
	Handle []byte // cudaIpcMemHandle_t; not returned by the server
	Device int64
	Size   uint64
}

// RegisterSystemMemory lets requests name a region of shared memory.
func (c *Client) RegisterSystemMemory(ctx context.Context, r SystemRegion) error {
	_, err := call[inferencepb.SystemSharedMemoryRegisterResponse](ctx, c, inferencepb.GRPCInferenceService_SystemSharedMemoryRegister_FullMethodName,
		&inferencepb.SystemSharedMemoryRegisterRequest{Name: r.Name, Key: r.Key, Offset: r.Offset, ByteSize: r.Size})
	return err
}

// UnregisterSystemMemory undoes RegisterSystemMemory; an empty name means all
// regions.
func (c *Client) UnregisterSystemMemory(ctx context.Context, name string) error {
	_, err := call[inferencepb.SystemSharedMemoryUnregisterResponse](ctx, c, inferencepb.GRPCInferenceService_SystemSharedMemoryUnregister_FullMethodName,
		&inferencepb.SystemSharedMemoryUnregisterRequest{Name: name})
	return err
}

// SystemMemory returns a region or, if name is empty, all of them in order of
// name.
func (c *Client) SystemMemory(ctx context.Context, name string) ([]SystemRegion, error) {
	r, err := call[inferencepb.SystemSharedMemoryStatusResponse](ctx, c, inferencepb.GRPCInferenceService_SystemSharedMemoryStatus_FullMethodName,
		&inferencepb.SystemSharedMemoryStatusRequest{Name: name})
	var all []SystemRegion
	for _, s := range r.GetRegions() {
		all = append(all, SystemRegion{s.GetName(), s.GetKey(), s.GetOffset(), s.GetByteSize()})
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all, err
}

// RegisterCUDAMemory lets requests name a region of GPU memory.
func (c *Client) RegisterCUDAMemory(ctx context.Context, r CUDARegion) error {
	_, err := call[inferencepb.CudaSharedMemoryRegisterResponse](ctx, c, inferencepb.GRPCInferenceService_CudaSharedMemoryRegister_FullMethodName,
		&inferencepb.CudaSharedMemoryRegisterRequest{Name: r.Name, RawHandle: r.Handle, DeviceId: r.Device, ByteSize: r.Size})
	return err
}

// UnregisterCUDAMemory undoes RegisterCUDAMemory; an empty name means all regions.
func (c *Client) UnregisterCUDAMemory(ctx context.Context, name string) error {
	_, err := call[inferencepb.CudaSharedMemoryUnregisterResponse](ctx, c, inferencepb.GRPCInferenceService_CudaSharedMemoryUnregister_FullMethodName,
		&inferencepb.CudaSharedMemoryUnregisterRequest{Name: name})
	return err
}

// CUDAMemory returns a region or, if name is empty, all of them in order of name.
func (c *Client) CUDAMemory(ctx context.Context, name string) ([]CUDARegion, error) {
	r, err := call[inferencepb.CudaSharedMemoryStatusResponse](ctx, c, inferencepb.GRPCInferenceService_CudaSharedMemoryStatus_FullMethodName,
		&inferencepb.CudaSharedMemoryStatusRequest{Name: name})
	var all []CUDARegion
	for _, s := range r.GetRegions() {
		all = append(all, CUDARegion{Name: s.GetName(), Device: int64(s.GetDeviceId()), Size: s.GetByteSize()})
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all, err
}
