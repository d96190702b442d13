package http1

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
)

// Exchange is one request and its reply. Exchanges are pooled.
type Exchange struct {
	// Context ends when the server closes, or when the client disconnects between Watch and
	// Unwatch.
	Context context.Context
	// Method, Path, Query, Header, Length and Body are the request. A handler that forwards the
	// exchange to another may change them.
	Method string
	Path   string // as sent, without the query
	Query  string // as sent, without the question mark
	Header Header
	Length int64 // of the body in bytes; -1: unknown
	// Body reads the body. It fails with ErrTruncated when the client ends it too early.
	Body io.Reader

	// Status, ContentType, JSONSize, Encoding and Extra are the head of the reply. Without a
	// content type the header is omitted.
	Status      int
	ContentType string
	JSONSize    int // Inference-Header-Content-Length; -1: omitted
	Encoding    string
	Extra       []Field
	// Text is the start of the reply's body; handlers append to Text[:0], since its storage is
	// reused. Tail follows it and is not kept after Send.
	Text []byte
	Tail [][]byte
	// BeforeSend, if set, is called once right before the head of the reply is written and may
	// change the reply.
	BeforeSend func(*Exchange)

	// State belongs to the handler and stays with the pooled exchange.
	State any

	conn     *conn // nil: the request came through net/http
	netHTTP  netHTTPExchange
	out      []byte // bytes that are written with one call
	started  bool   // the head of a chunked reply was written, or will be next
	complete bool   // the whole reply was written
	keep     bool   // the connection stays open after the reply
}

// Header holds the headers that every inference request needs.
type Header struct {
	JSONLength      string // Inference-Header-Content-Length
	HasJSONLength   bool
	ContentEncoding string
	AcceptEncoding  string
}

// Field is one header of a reply.
type Field struct{ Name, Value string }

// ErrTruncated is returned by readers of bodies that end before their declared length.
var ErrTruncated = errors.New("it ended too early")

// Get returns the first value of a request's header, by its name in lower case, or "".
func (x *Exchange) Get(name string) string {
	v, _ := x.Lookup(name)
	return v
}

// Lookup is Get that reports whether the header is present.
func (x *Exchange) Lookup(name string) (string, bool) {
	if x.conn != nil {
		return x.conn.head.lines.lookup(name)
	}
	v := x.netHTTP.request.Header.Values(name)
	if len(v) == 0 {
		return "", false
	}
	return v[0], true
}

// Each calls visit with every header of the request until it returns an error. Names that
// arrived through net/http are in lower case, and values without the blanks around them; others are
// as Triton's HTTP library passes them on, which keeps blanks at the end.
func (x *Exchange) Each(visit func(name, value string) error) error {
	if x.conn != nil {
		return x.conn.head.lines.each(visit)
	}
	for name, values := range x.netHTTP.request.Header {
		for _, v := range values {
			if err := visit(strings.ToLower(name), v); err != nil {
				return err
			}
		}
	}
	return nil
}

// RemoteAddr returns the client's address.
func (x *Exchange) RemoteAddr() string {
	if x.conn != nil {
		return x.conn.nc.RemoteAddr().String()
	}
	return x.netHTTP.request.RemoteAddr
}

// Conn returns the connection as the listener returned it, or nil when net/http accepted it.
func (x *Exchange) Conn() net.Conn {
	switch {
	case x.conn != nil:
		return x.conn.nc
	case x.netHTTP.conn != nil:
		return x.netHTTP.conn.Conn
	}
	nc, _ := x.Context.Value(ConnKey).(net.Conn)
	return nc
}

// ConnKey is where NewHTTPHandler looks in the context of a request for its connection.
var ConnKey any = connKey{}

type connKey struct{}

// TLS returns the state of an encrypted connection that net/http accepted, else nil.
func (x *Exchange) TLS() *tls.ConnectionState {
	if x.conn != nil {
		return nil
	}
	return x.netHTTP.request.TLS
}

// StopBody ends the wait for the rest of the body: its reader fails, and the connection ends with the
// reply. It may be called from any goroutine while the handler runs.
func (x *Exchange) StopBody() {
	if x.conn != nil {
		x.conn.body.stop()
	} else {
		x.netHTTP.stop()
	}
}

// Watch makes Context end when the client disconnects. The body must not be read between Watch
// and Unwatch.
func (x *Exchange) Watch() {
	if x.conn != nil {
		x.conn.watch.start()
	}
}

// Unwatch ends Watch.
func (x *Exchange) Unwatch() {
	if x.conn != nil {
		x.conn.watch.stop()
	}
}

// Size returns the length of Text and Tail in bytes.
func (x *Exchange) Size() int { return len(x.Text) + x.tailSize() }

func (x *Exchange) tailSize() int {
	n := 0
	for _, p := range x.Tail {
		n += len(p)
	}
	return n
}

// Copied returns how many bytes of Tail Send will copy, so that a small reply leaves in one
// write.
func (x *Exchange) Copied() int {
	if n := x.tailSize(); len(x.Text)+n <= smallReply {
		return n
	}
	return 0
}

// Send writes the reply.
func (x *Exchange) Send() {
	if x.BeforeSend != nil {
		x.BeforeSend(x)
	}
	if x.conn != nil {
		x.conn.send(x)
	} else {
		x.netHTTP.send(x)
	}
}

// Chunk adds a piece to the body of a chunked reply, after its head if it is the first. The
// request's body must have been read.
func (x *Exchange) Chunk(p []byte) error {
	if x.conn != nil {
		return x.conn.chunk(x, p)
	}
	return x.netHTTP.chunk(x, p)
}

// Flush writes the pieces that were added; last ends the reply.
func (x *Exchange) Flush(last bool) error {
	var err error
	if x.conn != nil {
		err = x.conn.flush(x, last)
	} else {
		err = x.netHTTP.flush(x, last)
	}
	if err == nil && last {
		x.complete = true
	}
	return err
}

// Started reports whether a chunked reply has begun.
func (x *Exchange) Started() bool { return x.started }

// start records that the head of a chunked reply is written next.
func (x *Exchange) start() {
	x.started = true
	if x.BeforeSend != nil {
		x.BeforeSend(x)
	}
}
