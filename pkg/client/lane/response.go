package lane

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"triton/pkg/status"
)

const (
	readBuffer = 16 << 10
	bodyBuffer = 256 << 10 // for bodies that are larger than the buffer
	maxHead    = 256 << 10
	maxError   = 1 << 20 // bytes kept of the body of an error
)

// responseReader reads HTTP/1.1 responses from one keep-alive connection.
type responseReader struct {
	src  io.Reader
	buf  []byte
	r, w int // unread bytes are buf[r:w]

	started bool  // a byte of this response has arrived
	first   int64 // time of the first byte
	status  int
	close   bool // the server closes the connection after this response

	length  int64 // of the body; -1 without Content-Length
	chunked bool
	jsonLen int

	events *eventReader // nil: event streams are bodies like any other
	stream bool         // the body is a stream of events
	x      *Exchange    // of the response
}

func (d *responseReader) reset(src io.Reader) {
	d.src, d.r, d.w = src, 0, 0
	if d.buf == nil {
		d.buf = make([]byte, readBuffer)
	}
}

// fill reads more bytes into the buffer, which grows if it is full.
func (d *responseReader) fill() error {
	if d.r > 0 && d.r == d.w {
		d.r, d.w = 0, 0
	}
	if d.w == len(d.buf) {
		if d.r > 0 {
			d.w = copy(d.buf, d.buf[d.r:d.w])
			d.r = 0
		} else if len(d.buf) >= maxHead {
			return fmt.Errorf("header of more than %d bytes", maxHead)
		} else {
			d.buf = append(d.buf, make([]byte, len(d.buf))...)
		}
	}
	n, err := d.src.Read(d.buf[d.w:])
	if n > 0 && !d.started {
		d.started, d.first = true, Now()
	}
	d.w += n
	if n > 0 {
		return nil
	}
	if err == nil {
		return io.ErrNoProgress
	}
	return err
}

// line returns the next line without its end, valid until the next fill.
func (d *responseReader) line() ([]byte, error) {
	seen := 0
	for {
		if i := bytes.IndexByte(d.buf[d.r+seen:d.w], '\n'); i >= 0 {
			l := d.buf[d.r : d.r+seen+i]
			d.r += seen + i + 1
			return bytes.TrimSuffix(l, []byte("\r")), nil
		}
		seen = d.w - d.r
		if err := d.fill(); err != nil {
			if d.started {
				err = unexpectedEOF(err)
			}
			return nil, err
		}
	}
}

func unexpectedEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// read reads one response. The body is kept in x if Keep is set or it is an error.
func (d *responseReader) read(x *Exchange) error {
	d.started = d.r < d.w
	if d.started {
		return errors.New("bytes came before the request was sent")
	}
	for {
		if err := d.head(); err != nil {
			return err
		}
		if d.status >= 200 {
			break
		}
	}
	x.Body, x.JSONLen = x.Body[:0], d.jsonLen
	if d.stream && d.status/100 == 2 {
		return d.readEvents(x)
	}
	d.stream = false
	limit := int64(0)
	switch {
	case d.status != http.StatusOK:
		limit = maxError
	case x.Keep:
		limit = 1<<63 - 1
	}
	err := d.body(&x.Body, limit)
	if x.JSONLen < 0 {
		x.JSONLen = len(x.Body)
	}
	return err
}

// readEvents reads a stream of events to its end.
func (d *responseReader) readEvents(x *Exchange) error {
	d.x = x
	d.events.reset()
	err := d.body(&x.Body, 0)
	if err == nil {
		err = d.events.finish(x) // the end of the stream ends the last event too
	}
	x.JSONLen = len(x.Body)
	var refused *status.Error
	if err != nil && !errors.As(err, &refused) {
		return fmt.Errorf("the stream broke after %d events: %w", d.events.count, err)
	}
	return err
}

func (d *responseReader) head() error {
	l, err := d.line()
	if err != nil {
		return err
	}
	// "HTTP/1.1 200 OK"
	if len(l) < 12 || string(l[:7]) != "HTTP/1." || l[8] != ' ' {
		return fmt.Errorf("not an HTTP response: %.40q", l)
	}
	code, err := strconv.Atoi(string(l[9:12]))
	if err != nil || code < 100 {
		return fmt.Errorf("not an HTTP status: %.40q", l)
	}
	d.status, d.close = code, l[7] == '0'
	d.length, d.chunked, d.jsonLen, d.stream = -1, false, -1, false
	for {
		l, err := d.line()
		if err != nil {
			return err
		}
		if len(l) == 0 {
			return nil
		}
		if err := d.header(l); err != nil {
			return err
		}
	}
}

func (d *responseReader) header(l []byte) error {
	name, value, ok := bytes.Cut(l, []byte(":"))
	if !ok {
		return fmt.Errorf("not a header: %.40q", l)
	}
	value = bytes.TrimSpace(value)
	var err error
	switch {
	case equalFold(name, "content-length"):
		d.length, err = strconv.ParseInt(string(value), 10, 64)
		if err == nil && d.length < 0 {
			err = errors.New("negative")
		}
	case equalFold(name, "inference-header-content-length"):
		d.jsonLen, err = strconv.Atoi(string(value))
	case equalFold(name, "transfer-encoding"):
		d.chunked = equalFold(value, "chunked")
	case equalFold(name, "connection"):
		d.close = equalFold(value, "close")
	case d.events != nil && equalFold(name, "content-type"):
		media, _, _ := bytes.Cut(value, []byte(";"))
		d.stream = equalFold(bytes.TrimSpace(media), "text/event-stream")
	}
	if err != nil {
		return fmt.Errorf("header %.80q: %w", l, err)
	}
	return nil
}

// equalFold compares without regard to case; lower must be lower case.
func equalFold(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i := range b {
		c := b[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// body reads the body and keeps its first limit bytes.
func (d *responseReader) body(into *[]byte, limit int64) error {
	switch {
	case d.status == http.StatusNoContent || d.status == http.StatusNotModified:
		return nil
	case d.chunked:
		return d.chunks(into, limit)
	case d.length >= 0:
		return unexpectedEOF(d.take(into, d.length, limit))
	}
	d.close = true // the body ends with the connection
	for {
		if err := d.take(into, int64(d.w-d.r), limit); err != nil {
			return err
		}
		if err := d.fill(); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

func (d *responseReader) take(into *[]byte, n, limit int64) error {
	for n > 0 {
		if d.r == d.w {
			if n > int64(len(d.buf)) && len(d.buf) < bodyBuffer {
				d.buf, d.r, d.w = make([]byte, bodyBuffer), 0, 0
			}
			if err := d.fill(); err != nil {
				return err
			}
		}
		k := min(n, int64(d.w-d.r))
		if d.stream {
			if err := d.events.add(d.x, d.buf[d.r:d.r+int(k)]); err != nil {
				return err
			}
		}
		if keep := min(k, limit-int64(len(*into))); keep > 0 {
			*into = append(*into, d.buf[d.r:d.r+int(keep)]...)
		}
		d.r += int(k)
		n -= k
	}
	return nil
}

func (d *responseReader) chunks(into *[]byte, limit int64) error {
	for {
		l, err := d.line()
		if err != nil {
			return err
		}
		size, _, _ := bytes.Cut(l, []byte(";"))
		n, err := strconv.ParseInt(string(bytes.TrimSpace(size)), 16, 64)
		if err != nil || n < 0 {
			return fmt.Errorf("not a chunk size: %.40q", l)
		}
		if err := d.take(into, n, limit); err != nil {
			return unexpectedEOF(err)
		}
		l, err = d.line() // after the last chunk: the end or a trailer
		for n == 0 && err == nil && len(l) > 0 {
			l, err = d.line()
		}
		if err != nil {
			return err
		}
		if len(l) > 0 {
			return fmt.Errorf("chunk is longer than its size: %.40q", l)
		}
		if n == 0 {
			return nil
		}
	}
}
