package http1

import (
	"net"
	"net/http"
	"strconv"
)

// smallReply is the size up to which the pieces of a reply are copied together, so that they
// leave in one system call.
const smallReply = 16 << 10

// reply writes a reply whose length is known.
func (c *conn) reply(x *Exchange, keep bool) error {
	size := x.Size()
	out := x.appendHead(x.out[:0])
	out = append(out, "\r\nContent-Length: "...)
	out = strconv.AppendInt(out, int64(size), 10)
	if !keep {
		out = append(out, "\r\nConnection: close"...)
	}
	out = append(out, "\r\n\r\n"...)
	x.out = out
	if size > smallReply {
		return c.replyLarge(x)
	}
	out = append(out, x.Text...)
	for _, p := range x.Tail {
		out = append(out, p...)
	}
	x.out = out
	c.renewWriteDeadline()
	_, err := c.direct.Write(out)
	return err
}

// appendHead appends the lines that all heads have, without the end of the last one.
func (x *Exchange) appendHead(out []byte) []byte {
	out = appendStatus(out, x.Status)
	if x.ContentType != "" {
		out = append(out, "\r\nContent-Type: "...)
		out = append(out, x.ContentType...)
	}
	if x.JSONSize >= 0 {
		out = append(out, "\r\nInference-Header-Content-Length: "...)
		out = strconv.AppendInt(out, int64(x.JSONSize), 10)
	}
	if x.Encoding != "" {
		out = append(out, "\r\nContent-Encoding: "...)
		out = append(out, x.Encoding...)
	}
	for i := range x.Extra {
		out = append(out, "\r\n"...)
		out = append(out, x.Extra[i].Name...)
		out = append(out, ": "...)
		out = append(out, x.Extra[i].Value...)
	}
	return out
}

// replyLarge writes the pieces without copying them together. Each writeStep has its own
// deadline, so that a slow client is served and one that stops reading is not.
func (c *conn) replyLarge(x *Exchange) error {
	pieces := make(net.Buffers, 0, 8)
	pieces = append(pieces, x.out)
	n := len(x.out)
	send := func() error {
		c.renewWriteDeadline()
		_, err := pieces.WriteTo(c.nc)
		pieces, n = pieces[:0], 0
		return err
	}
	add := func(p []byte) error {
		for len(p) > 0 {
			k := min(len(p), writeStep-n)
			pieces = append(pieces, p[:k])
			p, n = p[k:], n+k
			if n == writeStep {
				if err := send(); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := add(x.Text); err != nil {
		return err
	}
	for _, p := range x.Tail {
		if err := add(p); err != nil {
			return err
		}
	}
	return send()
}

// appendStatus appends the status line without its end.
func appendStatus(b []byte, code int) []byte {
	switch code {
	case 200:
		return append(b, "HTTP/1.1 200 OK"...)
	case 405: // the text of Triton's HTTP library
		return append(b, "HTTP/1.1 405 Not Allowed"...)
	}
	b = append(b, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(code), 10)
	b = append(b, ' ')
	return append(b, http.StatusText(code)...)
}
