package unpack

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
	zipMagic  = []byte{'P', 'K'}
)

// maxWindow bounds the memory of a zstd decoder. It is the window of `zstd --long`.
const maxWindow = 128 << 20

// decompress returns the bytes of a stream that is compressed by gzip, by zstd or not at all. The
// caller calls the function when it has read them.
func decompress(from *bufio.Reader) (io.Reader, func(), error) {
	switch magic, _ := from.Peek(len(zstdMagic)); {
	case bytes.HasPrefix(magic, gzipMagic):
		r, err := gzip.NewReader(from)
		return r, func() {}, broken(err)
	case bytes.Equal(magic, zstdMagic):
		r, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, func() {}, broken(err)
		}
		return r, r.Close, nil
	}
	return from, func() {}, nil
}

// stream reads the bytes of an archive after decompression, up to the limit of the tree.
type stream struct {
	ctx  context.Context
	tree *Tree
	from io.Reader
}

func (s *stream) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := s.from.Read(p)
	if s.tree.read += int64(n); s.tree.read > s.tree.limits.Bytes {
		return n, s.tree.tooLarge()
	}
	return n, err
}

// content reads a file, up to the limit of the tree.
type content struct {
	ctx  context.Context
	tree *Tree
	from io.Reader
}

func (c *content) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.from.Read(p)
	if c.tree.kept += int64(n); c.tree.kept > c.tree.limits.Bytes {
		return n, c.tree.tooLarge()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = broken(err)
	}
	return n, err
}

// broken marks an error of a reader as one of the archive.
func broken(err error) error {
	if err == nil || errors.Is(err, ErrRefused) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%w: it is broken: %w", ErrRefused, err)
}
