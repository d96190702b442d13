package http1

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// bodyReader reads the body of a connection's current request.
type bodyReader struct {
	c    *conn
	left int64
	err  error // why no more can be read
	// stopped reports that stop was called.
	stopped atomic.Bool
	progress
}

func (b *bodyReader) reset(length int64) { *b = bodyReader{c: b.c, left: length} }

// stop ends the wait for the rest of the body.
func (b *bodyReader) stop() {
	b.stopped.Store(true) // first: receive looks after it has set a deadline
	_ = b.c.nc.SetReadDeadline(longAgo)
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

func (b *bodyReader) Read(p []byte) (int, error) {
	switch {
	case b.left == 0:
		return 0, io.EOF
	case b.err != nil:
		return 0, b.err
	}
	p = p[:min(int64(len(p)), b.left)]
	c := b.c
	n := 0
	if c.r < c.w {
		n = copy(p, c.buf[c.r:c.w])
		c.r += n
	} else {
		n, b.err = b.receive(p)
	}
	b.left -= int64(n)
	if n > 0 { // bytes that arrive with an error are part of the body
		return n, nil
	}
	return 0, b.err
}

// receive reads from the connection. It removes the read deadline when the body is complete or
// cannot be completed.
func (b *bodyReader) receive(p []byte) (int, error) {
	c := b.c
	pace := c.server.core.pace
	b.startPeriod(c.nc.SetReadDeadline)
	if b.stopped.Load() {
		return 0, os.ErrDeadlineExceeded
	}
	n, err := c.nc.Read(p)
	b.add(n, pace.minBytes)
	if err != nil || int64(n) == b.left {
		_ = c.nc.SetReadDeadline(time.Time{})
	}
	if errors.Is(err, io.EOF) {
		return n, ErrTruncated
	}
	b.c.session.tooLate(err)
	return n, pace.explain(err)
}
