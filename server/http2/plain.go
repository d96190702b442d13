package http2

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/mem"

	"triton/pkg/h2frame"
	"triton/pkg/log"
	"triton/server/http1"
)

// plainCall is a request that is no call of gRPC, and its response. Handlers of net/http answer it.
type plainCall struct {
	s      *stream
	method string
	header http.Header
	left   int64 // of a body whose length was announced; -1: it was not

	// Used with conn.mu.
	toRead, toWrite deadline
	late            bool // the time to read is over
}

// deadline calls a function at a time, unless that is changed before. It is used with conn.mu.
type deadline struct {
	at    time.Time // zero: never
	timer *time.Timer
}

func (d *deadline) set(c *conn, at time.Time, f func()) {
	d.at = at
	switch {
	case at.IsZero() && d.timer == nil:
	case at.IsZero():
		d.timer.Stop()
	case d.timer != nil:
		d.timer.Reset(time.Until(at))
	default:
		d.timer = time.AfterFunc(time.Until(at), func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			if !d.at.IsZero() && !time.Now().Before(d.at) {
				f()
			}
		})
	}
}

// serveHTTP answers a request that is no call of gRPC.
func (s *stream) serveHTTP() {
	c := s.conn
	c.use.Begin()
	defer c.use.End()
	p := &plainCall{s: s, method: s.head.method, header: http.Header{}}
	defer func() {
		if err := recover(); err != nil {
			if e, ok := err.(error); !ok || !errors.Is(e, http.ErrAbortHandler) {
				log.Panicked(c.opts.Log, "panic while serving HTTP", err, "path", s.head.path)
			}
			p.end(true)
		}
	}()
	r, err := p.request()
	if err != nil {
		http.Error(p, err.Error(), http.StatusBadRequest)
	} else {
		c.opts.HTTP.ServeHTTP(p, r)
	}
	p.end(false)
}

// request returns the request as net/http would.
func (p *plainCall) request() (*http.Request, error) {
	s := p.s
	u, err := url.ParseRequestURI(s.head.path)
	if err != nil {
		return nil, errors.New("the path of the request is invalid")
	}
	r := &http.Request{
		Method: p.method, URL: u, RequestURI: s.head.path, Proto: "HTTP/2.0", ProtoMajor: 2,
		Header: plainHeader(s.head.fields), ContentLength: -1, Body: p,
		RemoteAddr: s.conn.raw.RemoteAddr().String(), TLS: http1.TLSState(s.conn.raw),
	}
	if hosts := s.head.md[":authority"]; len(hosts) > 0 {
		r.Host = hosts[0]
	}
	s.conn.mu.Lock()
	if s.remoteEnd && s.queued == 0 {
		r.ContentLength = 0
	}
	s.conn.mu.Unlock()
	if v := r.Header["Content-Length"]; len(v) > 0 {
		n, err := strconv.ParseUint(v[0], 10, 63)
		if err != nil || len(v) > 1 {
			return nil, errors.New("the content-length of the request is invalid")
		}
		r.ContentLength = int64(n) //nolint:gosec // 63 bits
	}
	p.left = r.ContentLength
	return r.WithContext((*callContext)(s)), nil
}

// plainHeader returns the fields of a header list as net/http has them.
func plainHeader(fields []hpack.HeaderField) http.Header {
	h := make(http.Header, len(fields))
	for _, f := range fields {
		switch {
		case f.IsPseudo() || f.Name == "host":
		case f.Name == "cookie" && len(h["Cookie"]) > 0:
			h["Cookie"][0] += "; " + f.Value
		default:
			h.Add(f.Name, f.Value)
		}
	}
	return h
}

// Read reads the body of the request.
func (p *plainCall) Read(b []byte) (int, error) {
	s, c := p.s, p.s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	for s.queued == 0 {
		switch {
		case s.over:
			return 0, contextError(s.err)
		case s.remoteEnd && p.left > 0:
			return 0, io.ErrUnexpectedEOF
		case s.remoteEnd:
			return 0, io.EOF
		case p.late:
			return 0, os.ErrDeadlineExceeded
		}
		s.want = 1
		s.reader.arm()
		c.flush(true)
		s.reader.wait(&c.mu)
	}
	s.want = 0
	first := &s.queue[0]
	n := copy(b, (*first.buf)[first.r:first.w])
	first.r += n
	if first.r == first.w {
		s.drop()
	}
	s.queued -= n
	s.consume(n)
	if p.left >= 0 {
		if p.left -= int64(n); p.left < 0 {
			return 0, errors.New("the body is longer than its content-length")
		}
	}
	return n, nil
}

// Close implements io.Closer.
func (p *plainCall) Close() error { return nil }

// Header implements http.ResponseWriter.
func (p *plainCall) Header() http.Header { return p.header }

// WriteHeader implements http.ResponseWriter.
func (p *plainCall) WriteHeader(code int) {
	p.s.conn.mu.Lock()
	defer p.s.conn.mu.Unlock()
	p.queueHead(code, false)
}

// queueHead queues the header list of the response, unless that was done before. The caller holds conn.mu.
func (p *plainCall) queueHead(code int, end bool) {
	s, c := p.s, p.s.conn
	if s.headerSent || s.over {
		return
	}
	s.headerSent = true
	b := c.block()
	b.literal(":status", strconv.Itoa(code))
	for name, values := range p.header {
		switch name {
		case "Connection", "Transfer-Encoding", "Keep-Alive", "Upgrade":
			continue
		}
		for _, v := range values {
			b.literal(strings.ToLower(name), v)
		}
	}
	if !c.queue(&b, s.id, end) {
		c.abort(s, http2.ErrCodeInternal)
	}
}

// Write implements http.ResponseWriter.
func (p *plainCall) Write(b []byte) (int, error) {
	s, c := p.s, p.s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.queueHead(http.StatusOK, false); s.over {
		return 0, contextError(s.err)
	}
	if len(b) == 0 || p.method == http.MethodHead {
		return len(b), nil
	}
	if _, err := s.sendData(b, mem.BufferSlice(nil)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// FlushError sends what was written. http.ResponseController calls it.
func (p *plainCall) FlushError() error {
	s, c := p.s, p.s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	p.queueHead(http.StatusOK, false)
	if c.flush(true); s.over {
		return contextError(s.err)
	}
	return nil
}

// SetReadDeadline ends the wait for the body at a time. http.ResponseController calls it.
func (p *plainCall) SetReadDeadline(at time.Time) error {
	c := p.s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	p.late = false
	p.toRead.set(c, at, func() {
		p.late = true
		p.s.reader.wake()
	})
	return nil
}

// SetWriteDeadline ends the call at a time. http.ResponseController calls it.
func (p *plainCall) SetWriteDeadline(at time.Time) error {
	c := p.s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	p.toWrite.set(c, at, func() {
		if !p.s.over {
			c.late()
			c.abort(p.s, http2.ErrCodeCancel)
			c.flush(false)
		}
	})
	return nil
}

// end ends the response. If it is not complete, the client is told so.
func (p *plainCall) end(incomplete bool) {
	s, c := p.s, p.s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	p.toRead.set(c, time.Time{}, nil)
	p.toWrite.set(c, time.Time{}, nil)
	switch {
	case s.over:
		return
	case incomplete:
		c.abort(s, http2.ErrCodeInternal)
		c.flush(true)
		return
	case s.headerSent:
		c.out = h2frame.AppendHead(c.out, 0, http2.FrameData, http2.FlagDataEndStream, s.id)
	default:
		p.queueHead(http.StatusOK, true)
	}
	if !s.over {
		s.leave()
	}
	c.flush(true)
}
