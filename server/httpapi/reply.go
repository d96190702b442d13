package httpapi

import (
	"net"
	"net/http"
	"strconv"
)

// reply sends the exchange's reply, a small one with a single system call.
func (c *conn) reply(x *exchange, keep bool) error {
	out := appendStatus(c.out[:0], x.status)
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
	out = append(out, "\r\nContent-Length: "...)
	out = strconv.AppendInt(out, int64(x.size()), 10)
	if !keep {
		out = append(out, "\r\nConnection: close"...)
	}
	out = append(out, "\r\n\r\n"...)
	c.out = out
	if x.size() > smallReply {
		return c.replyLarge(x)
	}
	out = append(out, x.text...)
	for i := range x.tail {
		out = append(out, x.tail[i].Bytes()...)
	}
	c.out = out
	_, err := c.nc.Write(out)
	return err
}

// replyLarge sends the pieces without putting them together.
func (c *conn) replyLarge(x *exchange) error {
	pieces := make(net.Buffers, 0, 2+len(x.tail))
	pieces = append(pieces, c.out, x.text)
	for i := range x.tail {
		pieces = append(pieces, x.tail[i].Bytes())
	}
	_, err := pieces.WriteTo(c.nc)
	return err
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
