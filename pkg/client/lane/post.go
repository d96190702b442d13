package lane

import (
	"context"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"

	"triton/pkg/client"
	"triton/pkg/client/internal/wire"
)

// PostOptions configure POST requests to an HTTP server that does not speak the KServe
// protocol. Options.Protocol has no effect.
type PostOptions struct {
	client.Options
	// Failure returns the error of a response whose status is not 2xx.
	Failure func(code int, body []byte) error
	// Event judges an event of a response of the type text/event-stream: whether it only ends
	// the stream, and whether it reports a failure. Each event is one of Exchange.Responses.
	Event func(name, data []byte) (end bool, err error)
}

// Post opens lanes for POST requests with any body. It is safe for concurrent use.
type Post struct{ http *httpClient }

// NewPost returns a client. It connects when the first lane is dialed.
func NewPost(o PostOptions) (*Post, error) {
	c, err := newHTTP(Options{Options: o.Options})
	if err != nil {
		return nil, err
	}
	c.post = &o
	return &Post{c}, nil
}

// Prepare encodes a request for a path below the address. The body must not change until
// Release. A header of the options replaces the content type.
func (p *Post) Prepare(path, contentType string, body []byte) *Prepared {
	c := p.http
	head := make([]byte, 0, 256+len(path))
	head = append(head, "POST "...)
	head = append(head, c.endpoint.Path+"/"+strings.TrimPrefix(path, "/")...)
	head = append(head, " HTTP/1.1\r\n"...)
	add := func(name, value string) { head = append(head, name+": "+value+"\r\n"...) }
	for _, h := range [][2]string{{"Host", c.endpoint.Host}, {"User-Agent", "triton-perf"}, {"Content-Type", contentType}, {"Accept", "*/*"}} {
		if !c.hasHeader(h[0]) {
			add(h[0], h[1])
		}
	}
	add("Content-Length", strconv.Itoa(len(body)))
	for _, name := range c.headerNames {
		add(name, c.headers[name])
	}
	head = append(head, "\r\n"...)
	q := &Prepared{segments: [][]byte{head, body}, size: len(head) + len(body)}
	if q.size <= flatBytes {
		q.segments = [][]byte{append(head, body...)}
	}
	return q
}

func (c *httpClient) hasHeader(name string) bool {
	for _, h := range c.headerNames {
		if textproto.CanonicalMIMEHeaderKey(h) == name {
			return true
		}
	}
	return false
}

// Dial opens a lane, which the caller closes. The context applies to dialing only.
func (p *Post) Dial(ctx context.Context) (Conn, error) { return p.http.dial(ctx) }

// Close has nothing to close: lanes own their connections.
func (p *Post) Close() error { return p.http.close() }

// failure returns the error of a response, nil for a success.
func (l *httpLane) failure(x *Exchange) error {
	switch {
	case l.post != nil && l.in.status/100 != 2:
		return l.post.Failure(l.in.status, x.Body)
	case l.post == nil && l.in.status != http.StatusOK:
		return wire.HTTPError(l.in.status, x.Body)
	}
	return nil
}
