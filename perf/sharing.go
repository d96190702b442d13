package perf

import (
	"context"
	"errors"
	"fmt"

	"triton/pkg/client"
	"triton/pkg/client/lane"
	"triton/pkg/cuda"
	"triton/pkg/kserve"
)

// MemoryKind is where the tensors of requests and responses are.
type MemoryKind uint8

// The kinds of memory.
const (
	InMessages   MemoryKind = iota // in the requests and responses themselves
	SystemMemory                   // in POSIX shared memory
	CUDAMemory                     // on a GPU
)

// SharedMemory is a Target whose requests may refer to registered regions of shared memory.
type SharedMemory interface {
	SystemMemory(ctx context.Context, name string) ([]client.SystemRegion, error)
	RegisterSystemMemory(ctx context.Context, r client.SystemRegion) error
	UnregisterSystemMemory(ctx context.Context, name string) error
	RegisterCUDAMemory(ctx context.Context, r client.CUDARegion) error
	UnregisterCUDAMemory(ctx context.Context, name string) error
	// PrepareShared is Prepare, or with sequence PrepareSequence, for a request whose tensors
	// are in regions.
	PrepareShared(req *kserve.Request, at lane.Regions, sequence bool) (*lane.Prepared, error)
}

// regionFamily begins the names of all regions and of their objects.
const regionFamily = "triton_perf_"

// sharing is the shared memory of a run.
type sharing struct {
	target SharedMemory
	kind   MemoryKind
	gpu    cuda.Allocator // of CUDAMemory
	space  *space
	tidy   bool // the memory of runs that were killed is freed
}

// share prepares the use of shared memory.
func (r *run) share() (err error) {
	if r.settings.Memory == InMessages {
		return nil
	}
	target, ok := r.client.(SharedMemory)
	if !ok {
		return errors.New("this kind of service has no shared memory")
	}
	s := &sharing{target: target, kind: r.settings.Memory}
	if s.kind == CUDAMemory {
		open := r.deps.OpenGPU
		if open == nil {
			open = openGPU
		}
		if s.gpu, err = open(); err != nil {
			return fmt.Errorf("CUDA shared memory needs a GPU on this machine: %w", err)
		}
	}
	if s.space, err = newSpace(regionFamily); err != nil {
		return err
	}
	r.sharing = s
	return nil
}

// removeAbandoned frees the memory of runs that were killed: their regions in this server, and
// their objects.
func (s *sharing) removeAbandoned(ctx context.Context) error {
	all, err := s.target.SystemMemory(ctx, "")
	for _, region := range all {
		if region.Key == "/"+region.Name && hasEnded(regionFamily, region.Name) {
			err = errors.Join(err, s.target.UnregisterSystemMemory(ctx, region.Name))
		}
	}
	return errors.Join(err, removeEnded(regionFamily))
}

// close ends the use of shared memory, if there was any.
func (s *sharing) close() error {
	if s == nil {
		return nil
	}
	return s.space.Close()
}
