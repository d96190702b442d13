package httpapi

import (
	"errors"
	"io"
	"math"

	"triton/pkg/status"
	"triton/pkg/tensor"
)

const (
	// firstRead is the memory that a request gets before any of its body has
	// come. After that it may have growth times of what did come, so that a
	// length which is declared but not sent costs nothing.
	firstRead = 1 << 20
	growth    = 16
	// chunkRead is the first guess for a body of unknown length.
	chunkRead = 4 << 10
	// maxBody is the largest body; Triton keeps lengths in 32 bits.
	maxBody = math.MaxInt32
)

// read reads the whole body, at most limit bytes, into memory of the pool.
func (x *exchange) read(limit int64) (*tensor.Buffer, error) {
	if x.length > limit {
		return nil, tooLong(x.length, limit)
	}
	known := x.length >= 0
	size := int64(chunkRead)
	if known {
		size = min(x.length, firstRead)
	}
	var b *tensor.Buffer
	if x.length > size { // all of it, if the memory is there anyhow
		b = x.api.pool.GetKept(int(x.length), x.textLen)
	}
	if b == nil {
		var err error
		if b, err = x.memory(size); err != nil {
			return nil, err
		}
	}
	n := 0
	for {
		got, err := io.ReadFull(x.body, b.Bytes()[n:])
		n += got
		x.received = int64(n)
		switch {
		case err == nil && known && int64(n) == x.length:
			x.drained = true
			return b, nil
		case err == nil:
			if b, err = x.grow(b, n, limit); err != nil {
				return nil, err
			}
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			x.drained = true
			b.Truncate(n)
			return b, nil
		default:
			b.Release()
			return nil, unreadable(err)
		}
	}
}

// grow moves the first n bytes, all there are, to a larger buffer.
func (x *exchange) grow(b *tensor.Buffer, n int, limit int64) (*tensor.Buffer, error) {
	want := int64(n) * 2
	if x.length >= 0 {
		want = min(x.length, int64(n)*growth)
	} else if int64(n) > limit {
		b.Release()
		return nil, tooLong(int64(n), limit)
	}
	bigger, err := x.memory(min(want, limit+1))
	if err != nil {
		b.Release()
		return nil, err
	}
	copy(bigger.Bytes(), b.Bytes()[:n])
	x.api.pool.CopiedToModel(n)
	b.Release()
	return bigger, nil
}

// memory takes n bytes of the pool for a body.
func (x *exchange) memory(n int64) (*tensor.Buffer, error) {
	b, err := x.api.pool.TryGetAligned(int(n), x.textLen)
	if err != nil {
		return nil, status.New(status.Unavailable, "no memory for %d bytes of the request body: %w", n, err)
	}
	return b, nil
}

// errCut is the end of a body that is not the end that the client meant. Readers
// of bodies say it instead of io.EOF.
var errCut = errors.New("it ended too early")

func unreadable(err error) error {
	return status.New(status.InvalidArg, "reading the request body: %w", err)
}

func tooLong(n, limit int64) error {
	return status.New(status.InvalidArg, "the request body of %d bytes exceeds the maximum of %d bytes", n, limit)
}
