package httpapi

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"
)

// handler carries exchanges over net/http.
type handler struct{ api *api }

// smallReply is up to where the pieces of a reply are put together first, so
// that they leave in one system call.
const smallReply = 16 << 10

// The values of headers that repeat, ready to stand in a header map.
var (
	typeValues = [...][]string{
		textPlain: {contentTypes[textPlain]}, jsonText: {contentTypes[jsonText]},
		octetStream: {contentTypes[octetStream]}, eventStream: {contentTypes[eventStream]},
	}
	understood = []string{"gzip, deflate"}
	closing    = []string{"close"}
)

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() {
		if p := recover(); p != nil {
			h.api.panicked(p)
			panic(http.ErrAbortHandler) // net/http ends the connection
		}
	}()
	x := h.api.begin()
	defer h.api.end(x)
	x.carry = carry{moved: movedFrom(r), pace: h.api.pace}
	c := &carried{w: w, control: http.NewResponseController(w), body: r.Body, carry: &x.carry}
	c.allowWrite() // of 100 Continue
	x.ctx, x.method, x.path = r.Context(), r.Method, r.URL.EscapedPath()
	x.length, x.body, x.fields, x.chunks = r.ContentLength, c, headerMap(r.Header), c
	if v := r.Header["Inference-Header-Content-Length"]; len(v) > 0 {
		x.header.jsonLength, x.header.hasJSONLength = v[0], true
	}
	if v := r.Header["Content-Encoding"]; len(v) > 0 {
		x.header.contentEncoding = v[0]
	}
	if v := r.Header["Accept-Encoding"]; len(v) > 0 {
		x.header.acceptEncoding = v[0]
	}
	if h.api.opts.Access != nil {
		x.remote = r.RemoteAddr
	}
	h.api.serve(x)
	if !x.started && !x.gone {
		c.finish(x, r)
		c.send(x, r.Method == http.MethodHead)
		if c.end { // net/http waits for a short body before it closes
			_ = c.control.SetReadDeadline(time.Now().Add(lingerSilence))
		}
	}
	x.finish()
}

// maxDrain is how much of a body that nobody wants is read, so that the
// connection can bring another request. Behind a longer one it is closed.
const maxDrain = 256 << 10

// drain reads what is left of the body, -1 if that is not known, unless it is too
// much.
func (x *exchange) drain(left int64) {
	if x.drained || left == 0 || left > maxDrain || x.body == nil {
		return
	}
	_, err := io.CopyN(io.Discard, x.body, maxDrain)
	x.drained = errors.Is(err, io.EOF)
}

// carried is one exchange over net/http, which has no time limits of the kind
// that slow but living clients stand.
type carried struct {
	w       http.ResponseWriter
	control *http.ResponseController
	body    io.Reader
	*carry
}

// carry is what an exchange keeps for carried, as it is pooled.
type carry struct {
	moved    *movedConn // nil when net/http accepted the connection itself
	pace     pace
	read     int64 // bytes of the body
	asked    bool  // for the body: a client that expects it has been told to go on
	broken   error // why no more of the body comes
	end      bool  // the connection ends with the reply
	writable time.Time
}

// Read reads the body, which may not stand still or come too slowly.
func (c *carried) Read(p []byte) (int, error) {
	if c.broken != nil {
		return 0, c.broken
	}
	c.asked = true
	if c.moved == nil {
		_ = c.control.SetReadDeadline(time.Now().Add(bodyTimeout))
	} else {
		c.moved.await(c.pace.least)
	}
	n, err := c.body.Read(p)
	if c.moved == nil {
		_ = c.control.SetReadDeadline(time.Time{})
	} else {
		c.moved.awaited()
	}
	c.read += int64(n)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = errCut
	case err != nil && !errors.Is(err, io.EOF):
		err = c.pace.explain(err)
	}
	c.broken = err
	return n, err
}

// finish reads what little is left of the body and finds out whether the
// connection lives on behind the reply. A client that waits to be told to send
// its body is not told.
func (c *carried) finish(x *exchange, r *http.Request) {
	left := x.length
	if left > 0 {
		left -= c.read
	}
	if c.asked || r.Header.Get("Expect") == "" {
		x.drain(left)
	}
	c.end = left != 0 && !x.drained
	if c.end && left > 0 && c.moved != nil && (c.asked || r.Header.Get("Expect") == "") {
		c.moved.session.refuses(left, c.pace)
	}
}

func (c *carried) allowWrite() {
	if now := time.Now(); now.Sub(c.writable) > writeTimeout/4 {
		c.writable = now
		_ = c.control.SetWriteDeadline(now.Add(writeTimeout))
	}
}

// write sends part of the body, in steps that have their own time each.
func (c *carried) write(p []byte) error {
	for len(p) > 0 {
		c.allowWrite()
		n, err := c.w.Write(p[:min(len(p), writeStep)])
		if err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// head fills in the headers that all replies have.
func (c *carried) head(x *exchange) http.Header {
	h := c.w.Header()
	h["Date"] = nil // as Triton, and it costs to make
	if c.end || c.moved != nil && c.moved.session.ends() {
		h["Connection"] = closing
	}
	h["Content-Type"] = typeValues[x.form]
	for _, f := range x.extra {
		h.Set(f.name, f.value)
	}
	return h
}

// send writes the reply. Errors mean that the client is gone.
func (c *carried) send(x *exchange, bare bool) {
	c.allowWrite() // also without a body
	h := c.head(x)
	h["Content-Length"] = []string{strconv.Itoa(x.size())}
	if x.headerSize >= 0 {
		h["Inference-Header-Content-Length"] = []string{strconv.Itoa(x.headerSize)}
	}
	if x.encoding != "" {
		h["Content-Encoding"] = []string{x.encoding}
	}
	if x.hint {
		h["Accept-Encoding"] = understood
	}
	c.w.WriteHeader(x.status)
	if bare {
		return
	}
	if x.size() <= smallReply {
		x.api.pool.CopiedToClient(x.tailSize)
		for i := range x.tail {
			x.text = append(x.text, x.tail[i].Bytes()...)
		}
		_ = c.write(x.text)
		return
	}
	if c.write(x.text) != nil {
		return
	}
	for i := range x.tail {
		if c.write(x.tail[i].Bytes()) != nil {
			return
		}
	}
}

func (c *carried) begin(x *exchange) {
	if !x.started {
		x.started = true
		c.head(x)
		c.w.WriteHeader(x.status)
	}
}

// chunk sends one of the body's: net/http makes them when it is told to flush.
func (c *carried) chunk(x *exchange, p []byte) error {
	c.begin(x)
	x.sent += int64(len(p))
	if err := c.write(p); err != nil {
		return err
	}
	return c.control.Flush()
}

func (c *carried) flush(x *exchange, last bool) error {
	if !last {
		return nil
	}
	c.allowWrite() // of the end, which net/http sends
	if x.started {
		return nil
	}
	c.begin(x)
	return c.control.Flush()
}
