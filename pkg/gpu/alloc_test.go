package gpu

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/gpu/nvml"
)

// constant is a device whose memory never changes.
type constant struct{ nvml.Device }

func (constant) MemoryV2() (nvml.MemoryV2, nvml.Return) {
	return nvml.MemoryV2{Total: 40, Reserved: 1, Free: 30}, nvml.Success
}

// TestMemoryDoesNotAllocate: it is read every few milliseconds while a model is measured.
func TestMemoryDoesNotAllocate(t *testing.T) {
	m := &Machine{gpus: []*gpu{{physicalGPU: physicalGPU{Identity: Identity{UUID: "GPU-1"}}, handle: &handle{dev: constant{}}}}}
	d := Device{UUID: "GPU-1"}
	require.Equal(t, Some[uint64](9), m.Memory(d).MemoryUsed)
	require.Zero(t, testing.AllocsPerRun(100, func() { m.Memory(d) }))
}
