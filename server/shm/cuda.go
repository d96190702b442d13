package shm

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strings"

	"triton/pkg/cuda"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// CUDARegion is one registered region on a GPU. Size is in bytes.
type CUDARegion struct {
	Name   string
	Device uint64
	Size   uint64
}

// RegisterCUDA opens size bytes of the memory that another process shares by
// handle on a device.
func (m *Manager) RegisterCUDA(name string, handle []byte, on, size uint64) error {
	if err := m.Allowed(); err != nil {
		return err
	}
	if err := checkNames(name, ""); err != nil {
		return err
	}
	if m.opts.CUDA == nil {
		return status.New(status.InvalidArg, "failed to register CUDA shared memory region: '%s', GPUs not supported", name)
	}
	h, ok := cuda.ParseHandle(handle)
	if !ok || on > math.MaxInt32 {
		return errHandle
	}
	return m.register(&region{name: name, size: size, memory: &deviceMemory{driver: m.opts.CUDA, handle: h, index: on}})
}

// errHandle gives no details, like Triton's: the handle may be invalid, of another
// device, of this process, or of an owner that has exited.
var errHandle = status.New(status.InvalidArg, "failed to register shared memory region: invalid args")

// UnregisterCUDA is UnregisterSystem for regions on GPUs. The error names the regions
// whose memory the driver failed to close; they are unregistered all the same.
func (m *Manager) UnregisterCUDA(name string) error {
	if err := m.Allowed(); err != nil {
		return err
	}
	return m.unregisterCUDA(name)
}

func (m *Manager) unregisterCUDA(name string) error {
	stuck := m.unregister(device, name)
	switch {
	case len(stuck) == 0:
		return nil
	case name != "":
		return status.New(status.Internal, "failed to close CUDA IPC handle: %s", stuck[0].closeErr)
	}
	slices.SortFunc(stuck, func(a, b *region) int { return cmp.Compare(a.name, b.name) })
	var text strings.Builder
	for _, r := range stuck {
		text.WriteString(r.name + " ,")
	}
	return status.New(status.Internal, "Failed to unregister the following cuda shared memory regions: %s", text.String())
}

// CUDAStatus returns a region on a GPU, or all regions if name is empty, sorted by
// name.
func (m *Manager) CUDAStatus(name string) ([]CUDARegion, error) {
	regions, other := m.list(device, name)
	if name != "" && len(regions) == 0 {
		if other {
			return nil, status.New(status.NotFound,
				"The region named '%s' is registered as system shared memory, not CUDA shared memory", name)
		}
		return nil, status.New(status.NotFound, "Unable to find cuda shared memory region: '%s'", name)
	}
	var all []CUDARegion
	for _, r := range regions {
		all = append(all, CUDARegion{r.name, r.memory.(*deviceMemory).index, r.size})
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all, nil
}

// deviceMemory is memory on a GPU, and its owner. Requests copy from and to it.
type deviceMemory struct {
	cuda.Memory
	driver cuda.Driver
	handle cuda.Handle
	index  uint64
	region *region
}

var _ tensor.Device = (*deviceMemory)(nil)

func (*deviceMemory) kind() kind { return device }

// Location returns the GPU.
func (c *deviceMemory) Location() tensor.Location {
	return tensor.Location{Kind: tensor.GPU, Device: int(c.index)}
}

func (c *deviceMemory) open(r *region) (err error) {
	c.region = r
	if c.Memory, err = c.driver.Open(int(c.index), c.handle); err != nil {
		return errHandle
	}
	if r.size > c.Size() {
		_ = c.Close() // the client gets the first error
		return status.New(status.InvalidArg, "failed to register shared memory region '%s': invalid args", r.name)
	}
	return nil
}

func (c *deviceMemory) init(r *region, _ map[string]*region) { r.Init(nil, false, c) }

// holds returns nil: memory on a GPU does not shrink.
func (*deviceMemory) holds(uint64) error { return nil }

// Lost returns nil for the same reason.
func (*deviceMemory) Lost() error { return nil }

func (c *deviceMemory) close() error { return c.Close() }

// Free closes the region after its last reference.
func (c *deviceMemory) Free(*tensor.Buffer) { c.region.free() }
