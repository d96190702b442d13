package httpapi

import "strconv"

// maxPending is how much of a chunked reply waits for the next flush.
const maxPending = 64 << 10

// begin writes the head of a reply in chunks, which is to follow. The request's
// body has been read by then.
func (c *conn) begin(x *exchange) {
	x.started = true
	x.keep = c.keeps()
	out := append(x.appendHead(x.out[:0]), "\r\nTransfer-Encoding: chunked"...)
	if !x.keep {
		out = append(out, "\r\nConnection: close"...)
	}
	x.out = append(out, "\r\n\r\n"...)
}

// chunk is one of the body's; an empty one would be its end.
func (c *conn) chunk(x *exchange, p []byte) error {
	if !x.started {
		c.begin(x)
	}
	if len(p) == 0 {
		return nil
	}
	x.sent += int64(len(p))
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

func (c *conn) flush(x *exchange, last bool) error {
	if !x.started {
		c.begin(x)
	}
	if last {
		x.out = append(x.out, "0\r\n\r\n"...)
	}
	return c.push(x)
}

// push sends what waits.
func (c *conn) push(x *exchange) error {
	if len(x.out) == 0 {
		return nil
	}
	c.allowWrite()
	_, err := c.nc.Write(x.out)
	x.out = x.out[:0]
	return err
}
