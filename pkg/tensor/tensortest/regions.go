package tensortest

import (
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// Regions is the shared memory of a server with one region of shared memory, "r", whose bytes are 0 to 39.
type Regions struct{ Memory *tensor.Buffer }

// NewRegions takes the memory of the region from a pool. The caller releases it.
func NewRegions(pool *tensor.Pool) Regions {
	memory, err := pool.TryGet(40)
	if err != nil {
		panic(err)
	}
	rs := Regions{memory}
	for i := range rs.Memory.Bytes() {
		rs.Memory.Bytes()[i] = byte(i)
	}
	return rs
}

// Find returns a part of the region.
func (rs Regions) Find(region string, offset, size uint64) (tensor.Segment, error) {
	if region != "r" || offset > 40 || size > 40-offset {
		return tensor.Segment{}, status.New(status.NotFound, "no region '%s'", region)
	}
	return tensor.Segment{Buffer: rs.Memory.Retain(), Off: int(offset), N: int(size)}, nil
}
