package grpcapi

import (
	"compress/zlib"
	"io"
	"math"

	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // compressed requests
)

// deflate reads requests that gRPC calls "deflate", which are zlib streams. It
// is an option of one server; gRPC's newer interface is a global registry.
type deflate struct{}

var _ grpc.Decompressor = deflate{} //nolint:staticcheck // see the type

func (deflate) Type() string { return "deflate" }

func (deflate) Do(r io.Reader) ([]byte, error) {
	z, err := zlib.NewReader(r)
	if err != nil {
		return nil, err
	}
	// One byte above the limit tells gRPC that the message is too large.
	data, err := io.ReadAll(io.LimitReader(z, math.MaxInt32+1))
	if err != nil {
		return nil, err
	}
	return data, z.Close()
}
