package lane

import (
	"bytes"
	"fmt"
	"io"
	"math"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	grpcstatus "google.golang.org/grpc/status"
)

// compress appends the compressed message of the parts to into.
func compress(into []byte, by encoding.Compressor, parts [][]byte) ([]byte, error) {
	b := bytes.NewBuffer(into)
	w, err := by.Compress(b)
	if err != nil {
		return nil, fmt.Errorf("compress the request: %w", err)
	}
	for _, p := range parts {
		if _, err := w.Write(p); err != nil {
			return nil, fmt.Errorf("compress the request: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compress the request: %w", err)
	}
	return b.Bytes(), nil
}

// decompress appends a message that the server compressed to into.
func decompress(into []byte, name string, message []byte) ([]byte, error) {
	by := encoding.GetCompressor(name)
	if by == nil {
		return into, grpcstatus.Errorf(codes.Internal, "grpc: Decompressor is not installed for grpc-encoding %q", name)
	}
	failed := func(err error) error {
		return grpcstatus.Errorf(codes.Internal, "grpc: failed to decompress the received message: %v", err)
	}
	r, err := by.Decompress(bytes.NewReader(message))
	if err != nil {
		return into, failed(err)
	}
	if c, ok := r.(io.Closer); ok {
		defer func() { _ = c.Close() }()
	}
	b := bytes.NewBuffer(into)
	n, err := io.Copy(b, io.LimitReader(r, math.MaxInt32+1))
	switch {
	case err != nil:
		err = failed(err)
	case n > math.MaxInt32:
		err = grpcstatus.Errorf(codes.ResourceExhausted, "grpc: received message after decompression larger than max %d", math.MaxInt32)
	}
	return b.Bytes(), err
}
