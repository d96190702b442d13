package http1

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"time"
)

// netHTTPExchange is the state of an exchange over net/http. It adds time limits that allow slow
// clients but not stalled ones.
type netHTTPExchange struct {
	w           http.ResponseWriter
	control     *http.ResponseController
	request     *http.Request
	conn        *netHTTPConn // nil when net/http accepted the connection itself
	pace        pace
	total       int64 // bytes of the body that were read
	continued   bool  // the body was read, so net/http has sent 100 Continue to a client that expects it
	err         error // why no more of the body can be read; io.EOF at its end
	end         bool  // the connection ends with the reply
	stopped     atomic.Bool
	deadlineSet time.Time
	progress    // of the body, without conn, which has its own
}

// stop ends the wait for the rest of the body.
func (s *netHTTPExchange) stop() {
	s.stopped.Store(true)
	if s.conn == nil {
		_ = s.control.SetReadDeadline(longAgo)
	} else {
		s.conn.stopBody()
	}
}

// Read reads the body, which must not stall or arrive too slowly.
func (s *netHTTPExchange) Read(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	s.continued = true
	if s.conn == nil {
		s.startPeriod(func(time.Time) error { return nil })
		_ = s.control.SetReadDeadline(s.until)
	} else {
		s.conn.beginBody(s.pace.minBytes)
	}
	if s.stopped.Load() { // after the deadline was set, which stop changes
		s.err = os.ErrDeadlineExceeded
		return 0, s.err
	}
	n, err := s.request.Body.Read(p)
	if s.conn == nil {
		s.add(n, s.pace.minBytes)
		_ = s.control.SetReadDeadline(time.Time{})
	} else {
		s.conn.endBody()
	}
	s.total += int64(n)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = ErrTruncated
	case err != nil && !errors.Is(err, io.EOF):
		if s.conn != nil {
			s.conn.session.tooLate(err)
		}
		err = s.pace.explain(err)
	}
	s.err = err
	return n, err
}

// skipBody reads a short rest of the body and decides whether the connection stays open after
// the reply. A client that waits for 100 Continue gets none, and so does not send its body.
func (s *netHTTPExchange) skipBody() {
	left := s.request.ContentLength
	if left > 0 {
		left -= s.total
	}
	sends := s.continued || s.request.Header.Get("Expect") == ""
	if sends && left != 0 && left <= maxSkipped {
		_, _ = io.CopyN(io.Discard, s, maxSkipped)
	}
	s.end = left != 0 && !errors.Is(s.err, io.EOF) || s.stopped.Load()
	if s.end && left > 0 && s.conn != nil && sends {
		s.conn.session.expect(left, s.pace)
	}
}

func (s *netHTTPExchange) renewWriteDeadline() {
	if now := time.Now(); now.Sub(s.deadlineSet) > writeTimeout/4 {
		s.deadlineSet = now
		_ = s.control.SetWriteDeadline(now.Add(writeTimeout))
	}
}

// write sends part of the body, in steps that have their own deadline each.
func (s *netHTTPExchange) write(p []byte) error {
	for len(p) > 0 {
		s.renewWriteDeadline()
		n, err := s.w.Write(p[:min(len(p), writeStep)])
		if err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// head fills in the headers that all replies have.
func (s *netHTTPExchange) head(x *Exchange) http.Header {
	h := s.w.Header()
	h["Date"] = nil // Triton sends none, and formatting it costs time
	if s.end || s.conn != nil && s.conn.session.leaving() {
		h["Connection"] = closing
	}
	h["Content-Type"] = typeValues(x.ContentType)
	for _, f := range x.Extra {
		h.Set(f.Name, f.Value)
	}
	return h
}

// closing is the value of a Connection header, ready for a header map.
var closing = []string{"close"}

// The frequent values of Content-Type, ready for a header map.
var (
	textPlain, json          = []string{TextPlain}, []string{JSON}
	octetStream, eventStream = []string{OctetStream}, []string{EventStream}
)

func typeValues(kind string) []string {
	switch kind {
	case "":
		return nil
	case TextPlain:
		return textPlain
	case JSON:
		return json
	case OctetStream:
		return octetStream
	case EventStream:
		return eventStream
	}
	return []string{kind}
}

// send writes a reply whose length is known. A failed write means that the client disconnected.
func (s *netHTTPExchange) send(x *Exchange) {
	s.skipBody()
	s.renewWriteDeadline() // also without a body
	h := s.head(x)
	size := x.Size()
	h["Content-Length"] = []string{strconv.Itoa(size)}
	if x.JSONSize >= 0 {
		h["Inference-Header-Content-Length"] = []string{strconv.Itoa(x.JSONSize)}
	}
	if x.Encoding != "" {
		h["Content-Encoding"] = []string{x.Encoding}
	}
	s.w.WriteHeader(x.Status)
	x.complete = true
	if s.request.Method != http.MethodHead {
		s.sendBody(x, size)
	}
	if s.end { // net/http waits for a short body before it closes
		_ = s.control.SetReadDeadline(time.Now().Add(lingerSilence))
	}
}

func (s *netHTTPExchange) sendBody(x *Exchange, size int) {
	if size <= smallReply && len(x.Tail) > 0 {
		x.out = append(x.out[:0], x.Text...)
		for _, p := range x.Tail {
			x.out = append(x.out, p...)
		}
		_ = s.write(x.out)
		return
	}
	if s.write(x.Text) != nil {
		return
	}
	for _, p := range x.Tail {
		if s.write(p) != nil {
			return
		}
	}
}

func (s *netHTTPExchange) begin(x *Exchange) {
	if !x.started {
		x.start()
		s.head(x)
		s.w.WriteHeader(x.Status)
	}
}

// chunk writes one chunk: net/http makes it when it is flushed.
func (s *netHTTPExchange) chunk(x *Exchange, p []byte) error {
	s.begin(x)
	if err := s.write(p); err != nil {
		return err
	}
	return s.control.Flush()
}

func (s *netHTTPExchange) flush(x *Exchange, last bool) error {
	if !last {
		return nil
	}
	s.renewWriteDeadline() // of the end, which net/http writes
	if x.started {
		return nil
	}
	s.begin(x)
	return s.control.Flush()
}
