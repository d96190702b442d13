package httpapi

import (
	"net"
	"net/http"
	"strconv"
)

// reply sends the exchange's reply, a small one with a single system call.
func (c *conn) reply(x *exchange, keep bool) error {
	out := x.appendHead(x.out[:0])
	out = append(out, "\r\nContent-Length: "...)
	out = strconv.AppendInt(out, int64(x.size()), 10)
	if !keep {
		out = append(out, "\r\nConnection: close"...)
	}
	out = append(out, "\r\n\r\n"...)
	x.out = out
	if x.size() > smallReply {
		return c.replyLarge(x)
	}
	out = append(out, x.text...)
	x.api.pool.CopiedToClient(x.tailSize)
	for i := range x.tail {
		out = append(out, x.tail[i].Bytes()...)
	}
	x.out = out
	c.allowWrite()
	_, err := c.nc.Write(out)
	return err
}

// appendHead writes what all heads have; the last line is still to be ended.
func (x *exchange) appendHead(out []byte) []byte {
	out = appendStatus(out, x.status)
	out = append(out, "Content-Type: "...)
	out = append(out, contentTypes[x.form]...)
	if x.headerSize >= 0 {
		out = append(out, "\r\nInference-Header-Content-Length: "...)
		out = strconv.AppendInt(out, int64(x.headerSize), 10)
	}
	if x.encoding != "" {
		out = append(out, "\r\nContent-Encoding: "...)
		out = append(out, x.encoding...)
	}
	if x.hint {
		out = append(out, "\r\nAccept-Encoding: gzip, deflate"...)
	}
	for i := range x.extra {
		out = append(out, "\r\n"...)
		out = append(out, x.extra[i].name...)
		out = append(out, ": "...)
		out = append(out, x.extra[i].value...)
	}
	return out
}

// replyLarge sends the pieces without putting them together. Each step has its
// own time, so that a slow client is waited for and one that stands still is
// not.
func (c *conn) replyLarge(x *exchange) error {
	pieces := make(net.Buffers, 0, 8)
	pieces = append(pieces, x.out)
	n := len(x.out)
	send := func() error {
		c.allowWrite()
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
	if err := add(x.text); err != nil {
		return err
	}
	for i := range x.tail {
		if err := add(x.tail[i].Bytes()); err != nil {
			return err
		}
	}
	return send()
}

func appendStatus(b []byte, code int) []byte {
	switch code {
	case 200:
		return append(b, "HTTP/1.1 200 OK\r\n"...)
	case 405: // the words of Triton's HTTP library
		return append(b, "HTTP/1.1 405 Not Allowed\r\n"...)
	}
	b = append(b, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(code), 10)
	b = append(b, ' ')
	b = append(b, http.StatusText(code)...)
	return append(b, "\r\n"...)
}
