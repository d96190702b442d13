package httpapi

import (
	"errors"
	"io"
	"math"

	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/memory"
)

const (
	// chunkRead is the first buffer for a body of unknown length.
	chunkRead = 4 << 10
	// maxBody bounds a body; Triton keeps lengths in 32 bits.
	maxBody = math.MaxInt32
)

// read reads the whole body, at most limit bytes, into memory of the pool.
func (x *exchange) read(limit int64) (*tensor.Buffer, error) {
	u := x.upload()
	u.body, u.length, u.textLen = x.Body, x.Length, x.textLen
	b, err := u.read(limit)
	x.received = u.received
	return b, err
}

// upload returns an upload without a body.
func (x *exchange) upload() upload {
	return upload{pool: x.api.pool, budget: x.api.opts.Memory, charge: &x.requestMemory, from: x}
}

// upload reads a body into memory of the pool: all of it is taken before the first byte of a body of
// known length is read, so that a body that does not fit is refused at once. Until bytes arrive it is
// only reserved.
type upload struct {
	pool     *tensor.Pool
	budget   *memory.Budget
	charge   *memory.Charge
	from     memory.Sender
	body     io.Reader
	length   int64 // -1: unknown
	textLen  int
	received int64
}

func (u *upload) read(limit int64) (*tensor.Buffer, error) {
	if u.length > limit {
		return nil, tooLong(u.length, limit)
	}
	known := u.length >= 0
	size := int64(chunkRead)
	if known {
		size = u.length
	}
	b, err := u.memory(size)
	if err != nil {
		return nil, err
	}
	n := 0
	for {
		arrival := u.budget.Arriving(b.Len(), u.from)
		got, err := io.ReadFull(u.body, b.Bytes()[n:])
		if stopped := arrival.End(); stopped != nil {
			b.Release()
			return nil, stopped
		}
		n += got
		u.received = int64(n)
		switch {
		case err == nil && known && int64(n) == u.length:
			return b, nil
		case err == nil:
			if b, err = u.grow(b, n, limit); err != nil {
				return nil, err
			}
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			b.Truncate(n)
			return b, nil
		default:
			b.Release()
			return nil, unreadable(err)
		}
	}
}

// grow moves the first n bytes of a body of unknown length, all that arrived, to a larger buffer.
func (u *upload) grow(b *tensor.Buffer, n int, limit int64) (*tensor.Buffer, error) {
	if int64(n) > limit {
		b.Release()
		return nil, tooLong(int64(n), limit)
	}
	bigger, err := u.memory(min(int64(n)*2, limit+1))
	if err != nil {
		b.Release()
		return nil, err
	}
	copy(bigger.Bytes(), b.Bytes()[:n])
	u.pool.CopiedToModel(n)
	u.charge.ReturnForCaller(b.Len())
	b.Release()
	return bigger, nil
}

// memory gets n bytes for the body.
func (u *upload) memory(n int64) (*tensor.Buffer, error) {
	b, err := u.pool.TryGetAligned(int(n), u.textLen)
	if err != nil {
		return nil, status.Wrap(err, status.Unavailable, "no memory for %d bytes of the request body: %w", n, err)
	}
	if err := u.charge.TakeForCaller(int(n)); err != nil {
		b.Release()
		return nil, err
	}
	return b, nil
}

func unreadable(err error) error {
	return status.New(status.InvalidArg, "reading the request body: %w", err)
}

func tooLong(n, limit int64) error {
	return status.New(status.InvalidArg, "the request body of %d bytes exceeds the maximum of %d bytes", n, limit)
}
