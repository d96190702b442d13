package grpcapi

import (
	"errors"
	"io"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	grpcstatus "google.golang.org/grpc/status"
)

// decompress replaces compressed data by decompressed data.
func (m *messageReader) decompress() error {
	name := m.from.RecvCompress()
	named := name != "" && name != encoding.Identity
	switch compressed := m.header[0]; {
	case compressed == 0:
		return nil
	case compressed != 1:
		m.free()
		return grpcstatus.Errorf(codes.Internal, "grpc: received unexpected payload format %d", compressed)
	case !named:
		m.free()
		return grpcstatus.Error(codes.Internal, "grpc: compressed flag set with identity or empty encoding")
	}
	packed, taken := m.data, m.charge.memory.Bytes()
	m.data = nil
	err := m.inflate(encoding.GetCompressor(name), packed) // not nil, as gRPC refuses unknown compressors
	packed.Free()
	if err != nil {
		m.free()
		return err
	}
	m.charge.release(taken)
	return nil
}

// inflateStep is the number of bytes that are decompressed at a time.
const inflateStep = 32 << 10

func (m *messageReader) inflate(z encoding.Compressor, packed mem.BufferSlice) error {
	from := packed.Reader()
	defer from.Close()
	plain, err := z.Decompress(from)
	if err != nil {
		return grpcstatus.Errorf(codes.Internal, "grpc: failed to decompress the message: %v", err)
	}
	if c, ok := plain.(io.Closer); ok {
		defer c.Close()
	}
	pool := mem.DefaultBufferPool()
	for size := 0; ; {
		if err := m.charge.Take(inflateStep); err != nil {
			return err
		}
		b := pool.Get(inflateStep)
		n, err := fill(*b, plain)
		*b = (*b)[:n]
		m.data = append(m.data, mem.NewBuffer(b, pool))
		size += n
		switch {
		case size > m.limit:
			return grpcstatus.Errorf(codes.ResourceExhausted, "grpc: received message after decompression larger than max %d", m.limit)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return grpcstatus.Errorf(codes.Internal, "grpc: failed to read decompressed data: %v", err)
		}
	}
}

// fill is io.ReadFull, except that it returns the reader's own error.
func fill(b []byte, r io.Reader) (n int, err error) {
	for n < len(b) && err == nil {
		var k int
		k, err = r.Read(b[n:])
		n += k
	}
	return n, err
}
