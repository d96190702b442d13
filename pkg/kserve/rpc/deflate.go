package rpc

import (
	"compress/zlib"
	"io"
	"sync"

	"google.golang.org/grpc/encoding"
)

// Deflate is the name in gRPC's headers of a compression that this package adds to gRPC's gzip.
const Deflate = "deflate"

// gRPC keeps compressors in a registry of the process, which may change only
// while the program starts.
var _ = func() bool {
	encoding.RegisterCompressor(&compressor{})
	return true
}()

// compressor makes zlib streams.
type compressor struct{ writers, readers sync.Pool }

func (*compressor) Name() string { return Deflate }

type deflater struct {
	*zlib.Writer
	pool *sync.Pool
}

func (d *compressor) Compress(w io.Writer) (io.WriteCloser, error) {
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

func (d *compressor) Decompress(r io.Reader) (io.Reader, error) {
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
