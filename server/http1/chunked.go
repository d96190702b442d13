package http1

import "strconv"

// maxPending is the number of bytes of a chunked reply that wait for the next flush.
const maxPending = 64 << 10

// begin appends the head of a chunked reply.
func (c *conn) begin(x *Exchange) {
	x.start()
	x.keep = c.keeps()
	out := append(x.appendHead(x.out[:0]), "\r\nTransfer-Encoding: chunked"...)
	if !x.keep {
		out = append(out, "\r\nConnection: close"...)
	}
	x.out = append(out, "\r\n\r\n"...)
}

// chunk appends one chunk. An empty one would be the end of the body.
func (c *conn) chunk(x *Exchange, p []byte) error {
	if !x.started {
		c.begin(x)
	}
	if len(p) == 0 {
		return nil
	}
	x.out = append(strconv.AppendUint(x.out, uint64(len(p)), 16), "\r\n"...)
	for len(x.out)+len(p) > maxPending {
		k := min(max(maxPending-len(x.out), 0), len(p))
		x.out = append(x.out, p[:k]...)
		p = p[k:]
		if err := c.push(x); err != nil {
			return err
		}
	}
	x.out = append(append(x.out, p...), "\r\n"...)
	return nil
}

func (c *conn) flush(x *Exchange, last bool) error {
	if !x.started {
		c.begin(x)
	}
	if last {
		x.out = append(x.out, "0\r\n\r\n"...)
	}
	return c.push(x)
}

// push writes the waiting bytes.
func (c *conn) push(x *Exchange) error {
	if len(x.out) == 0 {
		return nil
	}
	c.renewWriteDeadline()
	_, err := c.nc.Write(x.out)
	x.out = x.out[:0]
	return err
}
