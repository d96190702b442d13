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
	"triton/server/http1"
	"triton/server/memory"
)

var errInflate = status.New(status.InvalidArg, "encountered inconsistent stream state during decompression")

// errWindow refuses a body whose memory is not counted.
var errWindow = status.New(status.InvalidArg, "a frame of the zstd body demands a larger window than the first one, or than %d bytes", maxWindow)

// receiveCompressed reads a gzip, deflate or zstd body. The limit holds for the plain text, so
// that a small body cannot expand without end.
func (x *exchange) receiveCompressed() (*tensor.Buffer, int, error) {
	if x.Length == 0 {
		return nil, 0, status.New(status.InvalidArg, "nothing to be decompressed")
	}
	packed := bufio.NewReader(io.LimitReader(x.Body, maxBody))
	window := 0
	if x.Header.ContentEncoding == "zstd" {
		window = zstdWindow(packed)
	}
	if err := x.requestMemory.Take(inflaterSize + 4*min(window, zstdBlock) + window); err != nil {
		return nil, 0, err
	}
	plain, err := newDecompressor(packed, window)
	switch {
	case errors.Is(err, http1.ErrTruncated):
		return nil, 0, unreadable(err)
	case err != nil:
		return nil, 0, errInflate
	}
	defer plain.Close()
	body, err := x.inflate(plain)
	x.received = max(x.Length, 0)
	if err != nil {
		return nil, 0, err
	}
	return x.withTextLength(body)
}

// The memory of a decompressor, in bytes: that of its buffers, and for zstd a window and a few blocks
// that are no larger than it.
const (
	inflaterSize = 64 << 10
	zstdBlock    = 128 << 10
)

// zstdWindow returns the size of the window that a zstd body demands. One that does not begin with a
// frame may demand the most.
func zstdWindow(packed *bufio.Reader) int {
	head, _ := packed.Peek(zstd.HeaderMaxSize) // a shorter body is all there
	var h zstd.Header
	if h.Decode(head) != nil || h.Skippable {
		return maxWindow
	}
	window := h.WindowSize
	if h.SingleSegment {
		window = h.FrameContentSize
	}
	return int(min(max(window, zstd.MinWindowSize), maxWindow))
}

// newDecompressor returns a reader of the plain text of a zstd body with that window or less, or without
// one of a gzip or deflate body. As in Triton, these two may be labeled with each other's name.
func newDecompressor(packed *bufio.Reader, window int) (io.ReadCloser, error) {
	if window > 0 {
		z, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(uint64(window)))
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	}
	if mark, err := packed.Peek(2); err != nil {
		return nil, err
	} else if mark[0] == 0x1f && mark[1] == 0x8b {
		return gzip.NewReader(packed)
	}
	return zlib.NewReader(packed)
}

func (x *exchange) inflate(plain io.Reader) (*tensor.Buffer, error) {
	limit := x.api.maxInput
	inner := x.upload()
	inner.body, inner.length = plain, -1
	body, err := inner.read(limit)
	var e *status.Error
	switch {
	case err == nil && int64(body.Len()) > limit:
		body.Release()
	case err == nil:
		return body, nil
	case errors.Is(err, http1.ErrTruncated):
		return nil, err
	case status.CodeOf(err) == status.Unavailable: // there is no memory
		return nil, err
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return nil, errWindow
	case !errors.As(err, &e) || e.Cause != nil:
		return nil, errInflate
	}
	return nil, status.New(status.InvalidArg,
		"Decompressed data size exceeds the maximum allowed value of %d bytes. Use --http-max-input-size to increase the limit.", limit)
}

// compress compresses the reply with the encoding that the client prefers, if any.
func (x *exchange) compress() {
	encoding := preferred(x.Header.AcceptEncoding)
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
	if n := len(x.Text) + x.tailSize; n > memory.Uncounted && x.replyMemory.Take(n) != nil {
		return // send it uncompressed
	}
	p := pool.Get().(compressor)
	defer pool.Put(p)
	out := make(writer, 0, (len(x.Text)+x.tailSize)/2+64)
	p.Reset(&out)
	_, err := p.Write(x.Text)
	for i := 0; i < len(x.tailSegments) && err == nil; i++ {
		_, err = p.Write(x.tailSegments[i].Bytes())
	}
	if err == nil {
		err = p.Close()
	}
	if err != nil { // send it uncompressed
		return
	}
	x.Text, x.tailSegments, x.tailSize, x.Encoding = out, nil, 0, encoding
}

// maxWindow bounds the memory that a zstd body may demand; browsers have the same limit.
const maxWindow = 8 << 20

// compressor is a gzip, zlib or zstd writer. They are large, hence pooled.
type compressor interface {
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

// weightOf returns the number that a text begins with, or 0.
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

// preferred returns the encoding of the highest weight in an Accept-Encoding header, the first
// among equals, or "". Unknown encodings are ignored.
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
