package kserve

import (
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// Place is a part of a region, in bytes, as a request names it.
type Place struct {
	Region       string
	Offset, Size uint64
}

// Find is the memory of a place; the caller owns its reference. A nil rs has no
// regions.
func (p Place) Find(rs Regions) (tensor.Segment, error) {
	if rs == nil {
		return tensor.Segment{}, status.New(status.NotFound, "Unable to find shared memory region: '%s'", p.Region)
	}
	return rs.Find(p.Region, p.Offset, p.Size)
}

// Lend makes the place the data of an input. The client may change the memory
// at any time, which values can stand and lengths cannot: BYTES are copied, so
// that they stay what they were when they were checked. So is what lies on a
// device.
func (p Place) Lend(t *Tensor, rs Regions, pool *tensor.Pool) error {
	s, err := p.Find(rs)
	if err != nil {
		return err
	}
	defer s.Buffer.Release()
	if s.N == 0 {
		return nil
	}
	if device := s.Buffer.Device(); device != nil {
		return p.fetch(t, s, device, pool)
	}
	lent := tensor.SliceData(s.Buffer, s.Off, s.N)
	if t.DataType != tensor.Bytes {
		t.Data = lent
		return nil
	}
	defer lent.Release()
	b, err := pool.TryGet(s.N)
	if err != nil {
		return status.New(status.Unavailable, "no memory for the strings of input '%s': %w", t.Name, err)
	}
	t.Data = tensor.NewData(b)
	if !tensor.CopyShared(b.Bytes(), &lent) {
		return status.New(status.Internal, "Invalid shared memory region: '%s'", p.Region)
	}
	pool.CopiedToModel(s.N)
	return nil
}

// fetch copies an input from a device.
func (p Place) fetch(t *Tensor, s tensor.Segment, from tensor.Device, pool *tensor.Pool) error {
	b, err := pool.TryGet(s.N)
	if err != nil {
		return status.New(status.Unavailable, "no memory for input '%s': %w", t.Name, err)
	}
	t.Data = tensor.NewData(b)
	if err := from.Read(b.Bytes(), uint64(s.Off)); err != nil {
		return status.New(status.Internal, "failed to copy input '%s' from CUDA shared memory region '%s': %w", t.Name, p.Region, err)
	}
	pool.CopiedToModel(s.N)
	return nil
}
