package grpcapi

import (
	"compress/zlib"
	"context"
	"io"
	"slices"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/gzip" // registers itself
)

const deflateName = "deflate"

// gRPC keeps compressors in a registry of the process, which may change only
// while the program starts.
var _ = func() bool {
	encoding.RegisterCompressor(&deflate{})
	return true
}()

// deflate implements gRPC's "deflate": zlib streams.
type deflate struct{ writers, readers sync.Pool }

func (*deflate) Name() string { return deflateName }

type deflater struct {
	*zlib.Writer
	pool *sync.Pool
}

func (d *deflate) Compress(w io.Writer) (io.WriteCloser, error) {
	z, _ := d.writers.Get().(*deflater)
	if z == nil {
		return &deflater{zlib.NewWriter(w), &d.writers}, nil
	}
	z.Reset(w)
	return z, nil
}

func (z *deflater) Close() error {
	defer z.pool.Put(z)
	return z.Writer.Close()
}

type inflater struct {
	io.ReadCloser
	pool *sync.Pool
}

func (d *deflate) Decompress(r io.Reader) (io.Reader, error) {
	z, _ := d.readers.Get().(*inflater)
	if z == nil {
		zr, err := zlib.NewReader(r)
		if err != nil {
			return nil, err
		}
		return &inflater{zr, &d.readers}, nil
	}
	if err := z.ReadCloser.(zlib.Resetter).Reset(r, nil); err != nil {
		d.readers.Put(z)
		return nil, err
	}
	return z, nil
}

// Close is called by gRPC when the message has been read.
func (z *inflater) Close() error {
	defer z.pool.Put(z)
	return z.ReadCloser.Close()
}

// algorithm returns the algorithm that gRPC's C++ library, and so Triton, uses for a
// level, among those that the client accepts: low prefers gzip, medium and high prefer
// deflate. Neither library compresses harder for a higher level.
func (c Compression) algorithm(accepted []string) string {
	all := [...]string{gzip.Name, deflateName}
	if c < CompressMedium {
		slices.Reverse(all[:])
	}
	name := encoding.Identity
	for _, a := range all {
		if slices.Contains(accepted, a) {
			name = a
		}
	}
	return name
}

// compress sets the compression of a call's responses. By default gRPC would compress
// the response to a compressed request.
func (c Compression) compress(ctx context.Context) {
	if c == CompressNone {
		s, ok := grpc.ServerTransportStreamFromContext(ctx).(interface{ RecvCompress() string })
		if !ok || s.RecvCompress() == "" || s.RecvCompress() == encoding.Identity {
			return
		}
		_ = grpc.SetSendCompressor(ctx, encoding.Identity) // fails only for a call that has answered
		return
	}
	if accepted, err := grpc.ClientSupportedCompressors(ctx); err == nil {
		_ = grpc.SetSendCompressor(ctx, c.algorithm(accepted))
	}
}
