package httpapi

import (
	"bufio"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"triton/pkg/status"
	"triton/pkg/tensor"
)

var errInflate = status.New(status.Internal, "encountered inconsistent stream state during decompression")

// receiveCompressed reads a gzip, deflate or zstd body. What comes out counts against
// the limit, so that a small body cannot unfold without end.
func (x *exchange) receiveCompressed() (*tensor.Buffer, int, error) {
	if x.length == 0 {
		return nil, 0, status.New(status.InvalidArg, "nothing to be decompressed")
	}
	in := io.LimitReader(x.body, maxBody)
	plain, err := unpacker(x.header.contentEncoding, in)
	switch {
	case errors.Is(err, errCut):
		return nil, 0, unreadable(err)
	case err != nil:
		return nil, 0, errInflate
	}
	defer plain.Close()
	body, err := x.inflate(plain)
	x.received = max(x.length, 0)
	if err != nil {
		return nil, 0, err
	}
	n, err := x.jsonLength(body.Len())
	if err != nil {
		body.Release()
		return nil, 0, err
	}
	return body, n, nil
}

// unpacker reads the plain text. As with Triton, gzip and deflate may be called
// by each other's name.
func unpacker(encoding string, in io.Reader) (io.ReadCloser, error) {
	if encoding == "zstd" {
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	}
	packed := bufio.NewReader(in)
	if mark, err := packed.Peek(2); err != nil {
		return nil, err
	} else if mark[0] == 0x1f && mark[1] == 0x8b {
		return gzip.NewReader(packed)
	}
	return zlib.NewReader(packed)
}

func (x *exchange) inflate(plain io.Reader) (*tensor.Buffer, error) {
	limit := x.api.maxInput
	inner := exchange{api: x.api, asked: asked{body: plain, length: -1}}
	body, err := inner.read(limit)
	var e *status.Error
	switch {
	case err == nil && int64(body.Len()) > limit:
		body.Release()
	case err == nil:
		return body, nil
	case errors.Is(err, errCut):
		return nil, err
	case !errors.As(err, &e) || e.Cause != nil:
		return nil, errInflate
	}
	return nil, status.New(status.InvalidArg,
		"Decompressed data size exceeds the maximum allowed value of %d bytes. Use --http-max-input-size to increase the limit.", limit)
}

// compress packs the reply the way the client likes best, if it does.
func (x *exchange) compress() {
	encoding := preferred(x.header.acceptEncoding)
	if encoding == "" {
		return
	}
	pool := &deflaters
	switch encoding {
	case "gzip":
		pool = &gzippers
	case "zstd":
		pool = &zstandards
	}
	p := pool.Get().(packer)
	defer pool.Put(p)
	out := make(writer, 0, x.size()/2+64)
	p.Reset(&out)
	_, err := p.Write(x.text)
	for i := 0; i < len(x.tail) && err == nil; i++ {
		_, err = p.Write(x.tail[i].Bytes())
	}
	if err == nil {
		err = p.Close()
	}
	if err != nil { // then it goes out as it is
		return
	}
	x.text, x.tail, x.tailSize, x.encoding = out, nil, 0, encoding
}

// maxWindow is how much memory a zstd body may ask for, as browsers have it.
const maxWindow = 8 << 20

// packer is what gzip, zlib and zstd writers have in common. They are large, hence
// kept.
type packer interface {
	io.WriteCloser
	Reset(io.Writer)
}

var (
	gzippers   = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}
	deflaters  = sync.Pool{New: func() any { return zlib.NewWriter(nil) }}
	zstandards = sync.Pool{New: func() any {
		z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(1<<20))
		if err != nil {
			panic(err) // the options are constant
		}
		return z
	}}
)

type writer []byte

func (w *writer) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	return len(p), nil
}

// weightOf is the number that a text begins with, 0 when there is none.
func weightOf(text string) float64 {
	const longest = 32
	text = strings.TrimLeft(text, " \t")
	for n := min(len(text), longest); n > 0; n-- {
		if v, err := strconv.ParseFloat(text[:n], 64); err == nil {
			return v
		}
	}
	return 0
}

// preferred is the encoding of the highest weight in an Accept-Encoding header,
// the first among equals; empty for none. What is unknown is passed over.
func preferred(header string) string {
	if header == "" {
		return ""
	}
	best, weight := "", 0.0
	for item := range strings.SplitSeq(header, ",") {
		name, q := strings.TrimLeft(item, " \t"), 1.0
		if at := strings.IndexByte(name, ';'); at >= 0 {
			text, ok := strings.CutPrefix(name[at+1:], "q=")
			if !ok {
				continue
			}
			name, q = name[:at], weightOf(text)
		}
		if name != "identity" && name != "gzip" && name != "deflate" && name != "zstd" {
			continue
		}
		if q > weight {
			best, weight = name, q
		}
	}
	if best == "identity" {
		return ""
	}
	return best
}
