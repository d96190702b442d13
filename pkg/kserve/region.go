package kserve

import (
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// RegionSlice is a part of a shared memory region, in bytes, as a request names
// it.
type RegionSlice struct {
	Region       string
	Offset, Size uint64
}

// Find returns the memory of the slice. The caller owns its reference. A nil rs
// has no regions.
func (s RegionSlice) Find(rs Regions) (tensor.Segment, error) {
	if err := CheckLength("name of a shared memory region", len(s.Region), MaxName); err != nil {
		return tensor.Segment{}, err
	}
	if rs == nil {
		return tensor.Segment{}, status.New(status.NotFound, "Unable to find shared memory region: '%s'", s.Region)
	}
	return rs.Find(s.Region, s.Offset, s.Size)
}

// Lend makes the slice the data of an input. The client may change the memory at
// any time. Values may change under their reader but lengths may not, so BYTES
// are copied: their lengths stay as they were checked. Data on a device is
// copied too.
func (s RegionSlice) Lend(t *Tensor, rs Regions, pool *tensor.Pool) error {
	m, err := s.Find(rs)
	if err != nil {
		return err
	}
	defer m.Buffer.Release()
	if m.N == 0 {
		return nil
	}
	if device := m.Buffer.Device(); device != nil {
		return s.fetch(t, m, device, pool)
	}
	lent := tensor.SliceData(m.Buffer, m.Off, m.N)
	if t.DataType != tensor.Bytes {
		t.Data = lent
		return nil
	}
	defer lent.Release()
	b, err := pool.TryGet(m.N)
	if err != nil {
		return status.Wrap(err, status.Unavailable, "no memory for the strings of input '%s': %w", t.Name, err)
	}
	t.Data = tensor.NewData(b)
	if err := tensor.CopyShared(b.Bytes(), &lent); err != nil {
		return err
	}
	pool.CopiedToModel(m.N)
	return nil
}

// fetch copies an input from a device.
func (s RegionSlice) fetch(t *Tensor, m tensor.Segment, from tensor.Device, pool *tensor.Pool) error {
	b, err := pool.TryGet(m.N)
	if err != nil {
		return status.Wrap(err, status.Unavailable, "no memory for input '%s': %w", t.Name, err)
	}
	t.Data = tensor.NewData(b)
	if err := from.Read(b.Bytes(), uint64(m.Off)); err != nil {
		return status.New(status.Internal, "failed to copy input '%s' from CUDA shared memory region '%s': %w", t.Name, s.Region, err)
	}
	pool.CopiedToModel(m.N)
	return nil
}
