package http2

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"triton/pkg/h2frame"
	"triton/server/http1"
)

const (
	// webType is how the content types of gRPC-Web begin, and webText those whose body is base64.
	webType = contentType + "-web"
	webText = webType + "-text"
	// trailerFlag marks the last frame of a response, which has the trailer as text.
	trailerFlag = 0x80
)

// Web returns a handler that answers the requests of gRPC-Web, and lets next answer all others. Scripts of the web
// origins may send them, "*" stands for all. A request becomes a call as those over HTTP/2 do: its body has the same
// messages. The answer begins when the request has been read, because HTTP/1 has no other order.
func (s *Server) Web(next http1.Handler, origins []string) http1.Handler {
	return http1.HandlerFunc(func(x *http1.Exchange) {
		kind := ""
		if !strings.HasPrefix(x.Path, "/v2") {
			kind = x.Get("content-type")
		}
		switch {
		case strings.HasPrefix(kind, webType) && x.Method == http.MethodPost:
			s.serveWeb(x, kind, origins)
		case x.Method == http.MethodOptions && s.serves(x.Path):
			x.AllowOrigin(origins, http.MethodPost, "")
			x.Send()
		default:
			next.Serve(x)
		}
	})
}

// serves reports whether there is a method of a path.
func (s *Server) serves(path string) bool {
	m, _ := s.find(path)
	return m != nil
}

// webCall carries a call that arrived as a request of gRPC-Web. Its stream has a connection of its own, on which no
// frame is read or written.
type webCall struct {
	x       *http1.Exchange
	kind    string // content type of the response
	text    bool   // the bodies are base64
	origins []string

	reading  sync.Mutex
	body     io.Reader
	ended    bool // nothing more is read
	stop     func() bool
	watching bool

	writing sync.Mutex
	begun   bool // the head of the response was written

	// Used with conn.mu.
	err      error // the body is malformed, or the time for it is over
	finished bool
}

// serveWeb answers a request of gRPC-Web.
func (s *Server) serveWeb(x *http1.Exchange, kind string, origins []string) {
	w := &webCall{x: x, body: x.Body, origins: origins, kind: webType}
	subtype, text := strings.CutPrefix(kind, webText)
	if text {
		w.text, w.body, w.kind = true, &textReader{from: x.Body}, webText
	} else {
		subtype = strings.TrimPrefix(kind, webType)
	}
	h := s.webHead(x, subtype)
	if h.subtype != "" {
		w.kind += "+" + h.subtype
	}
	c := &conn{
		server: s, opts: &s.opts, raw: x.Conn(), initial: h2frame.MaxWindow, maxList: -1,
		writing: true, // so nothing is written to a socket
	}
	call := &stream{conn: c, id: 1, head: h, web: w, receives: h2frame.MaxWindow, reader: newWaiter(), sender: newWaiter()}
	c.streams = map[uint32]*stream{call.id: call}
	if err := c.identify(x.Context); err != nil {
		h.refuse(http.StatusUnauthorized, codes.Unauthenticated, "%v", err)
	}
	if h.refused == nil && h.timed && h.timeout <= 0 {
		h.refused, h.http = lateHead.refused, lateHead.http
	}
	if h.refused != nil {
		x.Status = h.http
		call.finish(h.refused)
		return
	}
	if h.timed {
		call.deadline = time.Now().Add(h.timeout)
		call.timer = time.AfterFunc(h.timeout, func() { call.expire(call.id) })
	}
	call.finish(call.handle())
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range call.queue {
		s.opts.Buffers.Put(call.queue[i].buf)
	}
}

// webHead returns the header list that the call would have over HTTP/2.
func (s *Server) webHead(x *http1.Exchange, subtype string) *head {
	h := &head{}
	h.add(":method", http.MethodPost)
	h.add(":path", x.Path)
	h.add(":scheme", "http")
	size := int64(0)
	_ = x.Each(func(name, value string) error {
		name, value = strings.ToLower(name), strings.TrimSpace(value)
		size += int64(len(name) + len(value) + h2frame.EntryOverhead)
		switch name {
		case "host":
			h.append(":authority", value)
		case "connection", "content-length", "content-type", "keep-alive", "te", "transfer-encoding":
		default:
			h.add(name, value)
		}
		return nil
	})
	if len(h.md[":authority"]) == 0 { // net/http keeps it elsewhere
		h.append(":authority", "")
	}
	h.add("content-type", contentType+subtype)
	h.complete(s)
	switch {
	case h.plain, !h.isGRPC:
		h.refuse(http.StatusUnsupportedMediaType, codes.InvalidArgument, "invalid content-type %q of gRPC-Web", x.Get("content-type"))
	case h.broken, h.malformed:
		h.refuse(http.StatusBadRequest, codes.InvalidArgument, "a header of the request is malformed")
	case size > int64(s.opts.MaxHeaderList):
		h.refuse(http.StatusRequestHeaderFieldsTooLarge, codes.ResourceExhausted,
			"the headers have %d bytes, the limit is %d", size, s.opts.MaxHeaderList)
	}
	return h
}

// identify sets who the client is: what the connection of the call below says, or what a new one would.
func (c *conn) identify(ctx context.Context) error {
	if p, ok := peer.FromContext(ctx); ok {
		c.peer = *p
		return nil
	}
	if c.raw == nil {
		return nil
	}
	_, info, err := c.opts.Credentials.ServerHandshake(c.raw)
	c.peer = peer.Peer{Addr: c.raw.RemoteAddr(), LocalAddr: c.raw.LocalAddr(), AuthInfo: info}
	return err
}

// pull reads more of the body. The caller holds conn.mu.
func (w *webCall) pull(s *stream) error {
	c := s.conn
	c.out = c.out[:0] // updates of windows, which nobody needs
	c.mu.Unlock()
	w.reading.Lock()
	w.read(s)
	w.reading.Unlock()
	c.mu.Lock()
	return w.err
}

// readSize is how much of a body is read at once.
const readSize = midChunk

// read reads more of the body. The caller holds reading.
func (w *webCall) read(s *stream) {
	c := s.conn
	c.mu.Lock()
	over := s.over || w.ended
	c.mu.Unlock()
	if over {
		return
	}
	b := c.opts.Buffers.Get(readSize)
	defer c.opts.Buffers.Put(b)
	n, err := w.body.Read(*b)
	c.mu.Lock()
	defer c.mu.Unlock()
	if n > 0 && !s.over {
		s.receive((*b)[:n], 0)
	}
	if err == nil {
		return
	}
	w.ended = true
	switch {
	case errors.Is(err, io.EOF):
		s.remoteEnd = true
		w.watching = true
		w.x.Watch()
		w.stop = context.AfterFunc(w.x.Context, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			s.cancel(errCanceled)
		})
	case errors.Is(err, http1.ErrTruncated):
		s.cancel(errCanceled)
	default:
		w.err = status.Errorf(codes.Internal, "reading the body: %v", err)
	}
}

// readAll reads the rest of the body, which a response waits for.
func (w *webCall) readAll(s *stream) error {
	c := s.conn
	w.reading.Lock()
	defer w.reading.Unlock()
	for {
		c.mu.Lock()
		over, err, full := s.over, w.err, s.queued > int(c.opts.StreamWindow)
		c.mu.Unlock()
		switch {
		case err != nil:
			return err
		case over || w.ended:
			return nil
		case full:
			return status.Errorf(codes.ResourceExhausted,
				"the first response is ready, and more than %d bytes of the request are not read: send fewer messages at a time", c.opts.StreamWindow)
		}
		w.read(s)
	}
}

// interrupt ends a read that waits for the client. The caller holds conn.mu, and the call was not over.
func (w *webCall) interrupt() {
	if w.reading.TryLock() { // nobody reads, or will: the call is over
		w.reading.Unlock()
		return
	}
	w.x.StopBody()
}

// send writes a message: what is in head, and data behind that.
func (w *webCall) send(s *stream, head []byte, data mem.BufferSlice) error {
	if err := w.readAll(s); err != nil {
		return err
	}
	w.writing.Lock()
	defer w.writing.Unlock()
	c := s.conn
	c.mu.Lock()
	over, why := s.over, s.err
	s.headerSent = true
	header, encoding := s.header, s.encoding
	c.mu.Unlock()
	if over {
		return contextError(why)
	}
	if !w.begun {
		w.begin(header, encoding)
	}
	err := w.write(head, data)
	if err == nil && !s.head.rpc.unary() {
		err = w.x.Flush(false)
	}
	if err == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.cancel(errCanceled)
	return contextError(errCanceled)
}

// begin makes the head of the response.
func (w *webCall) begin(header metadata.MD, encoding string) {
	w.begun = true
	x := w.x
	x.ContentType = w.kind
	names := []string{"grpc-encoding", "grpc-message", "grpc-status", detailsField}
	add := func(name, value string) {
		x.Extra = append(x.Extra, http1.Field{Name: name, Value: value})
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if encoding != "" {
		add("grpc-encoding", encoding)
	}
	eachField(header, add)
	if len(w.origins) > 0 {
		x.AllowOrigin(w.origins, http.MethodPost, strings.Join(names, ", "))
	}
}

// write writes a frame.
func (w *webCall) write(head []byte, data mem.BufferSlice) error {
	to := io.WriteCloser(chunkWriter{w.x})
	if w.text {
		to = base64.NewEncoder(base64.StdEncoding, to)
	}
	_, err := to.Write(head)
	for i := 0; err == nil && i < len(data); i++ {
		_, err = to.Write(data[i].ReadOnlyData())
	}
	return errors.Join(err, to.Close())
}

// chunkWriter writes to the body of a response.
type chunkWriter struct{ x *http1.Exchange }

func (c chunkWriter) Write(b []byte) (int, error) { return len(b), c.x.Chunk(b) }

// Close implements io.Closer.
func (chunkWriter) Close() error { return nil }

// finish ends the call and writes its status.
func (w *webCall) finish(s *stream, st *status.Status) {
	c := s.conn
	c.mu.Lock()
	if w.finished {
		c.mu.Unlock()
		return
	}
	w.finished = true
	if !s.over {
		s.over = true
		s.endContext()
		w.interrupt()
	} else if s.err != nil { // the handler need not have noticed
		st = status.Convert(contextError(s.err))
	}
	header, trailer, encoding := s.header, s.trailer, s.encoding
	c.mu.Unlock()
	w.reading.Lock() // nothing reads the exchange any more
	defer w.reading.Unlock()
	if w.watching {
		w.stop()
		w.x.Unwatch()
		w.watching = false
	}
	w.ended = true
	w.writing.Lock()
	defer w.writing.Unlock()
	if w.x.Context.Err() != nil {
		return
	}
	frame := appendTrailer(nil, st, trailer)
	if !w.begun {
		w.begin(header, encoding)
		if w.text {
			w.x.Text = base64.StdEncoding.AppendEncode(w.x.Text[:0], frame)
		} else {
			w.x.Text = append(w.x.Text[:0], frame...)
		}
		w.x.Send()
		return
	}
	if w.write(frame, nil) == nil {
		_ = w.x.Flush(true)
	}
}

// appendTrailer appends the last frame of a response.
func appendTrailer(b []byte, st *status.Status, trailer metadata.MD) []byte {
	at := len(b)
	b = append(b, trailerFlag, 0, 0, 0, 0)
	add := func(name, value string) {
		b = append(b, name...)
		b = append(b, ": "...)
		b = append(b, value...)
		b = append(b, "\r\n"...)
	}
	add("grpc-status", strconv.Itoa(int(st.Code())))
	if m := st.Message(); m != "" {
		add("grpc-message", encodeMessage(m))
	}
	eachTrailer(st, trailer, add)
	binary.BigEndian.PutUint32(b[at+1:], uint32(len(b)-at-prefixLen))
	return b
}
