package lane

import (
	"google.golang.org/grpc/mem"

	"triton/pkg/kserve"
)

func (c *grpcClient) prepare(req *kserve.Request, at Regions, sequence bool) (*Prepared, error) {
	if req.Raw {
		return nil, errRaw
	}
	if at.used() {
		return c.prepareShared(req, at, sequence)
	}
	encoded := c.codec.EncodeRequest(req)
	p := &Prepared{size: encoded.Len(), sequence: sequence, addSequence: sequence}
	if p.size <= flatBytes {
		p.message = mem.BufferSlice{mem.SliceBuffer(encoded.Materialize())}
		encoded.Free()
		return p, nil
	}
	// SliceBuffer has no reference count: the transport's Free after each send
	// does nothing, and the memory stays until Release.
	for _, b := range encoded {
		p.message = append(p.message, mem.SliceBuffer(b.ReadOnlyData()))
	}
	p.release = encoded.Free
	return p, nil
}
