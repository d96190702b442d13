package http2

import (
	"net"
	"slices"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/mem"

	"triton/pkg/h2frame"
)

const (
	// maxWrite and maxWriteFrames bound what one write has of a long message, so that others have their turn.
	maxWrite       = 1 << 20
	maxWriteFrames = 64
	// maxCopied bounds it where frames are copied behind each other, because the socket takes one buffer.
	maxCopied = 128 << 10
	// maxSpare bounds the buffers that are kept.
	maxSpare = 256 << 10
)

// flush writes the queued frames, unless another goroutine does. Where a write can be tried, what the socket does
// not take gets a goroutine of its own. Otherwise the caller writes if it may wait. The caller holds mu, which is
// released meanwhile.
func (c *conn) flush(mayWait bool) {
	for !c.writing && c.err == nil && len(c.out) > 0 {
		c.writing = true
		if c.quick == nil && !mayWait {
			c.wg.Go(c.writeRest)
			return
		}
		b := c.takeOut()
		c.mu.Unlock()
		n, err := c.write(b)
		c.mu.Lock()
		if err != nil {
			c.fail(err)
		}
		if c.rest = b[n:]; len(c.rest) > 0 && c.err == nil {
			c.wg.Go(c.writeRest) // writing stays
			return
		}
		c.written(b)
	}
	if c.life.last && len(c.streams) == 0 && !c.writing && len(c.out) == 0 {
		c.fail(errDrained)
	}
}

// write writes what the socket takes at once, or everything if that cannot be known.
func (c *conn) write(b []byte) (int, error) {
	if c.quick != nil {
		return c.quick.TryWrite(b)
	}
	return c.socket.Write(b)
}

func (c *conn) takeOut() []byte {
	b := c.out
	c.out, c.spare = c.spare[:0], nil
	return b
}

// written ends the turn of a writer, which has written b.
func (c *conn) written(b []byte) {
	c.rest, c.writing = nil, false
	if cap(b) <= maxSpare {
		c.spare = b[:0]
	}
	c.wakeSenders()
}

// writeRest writes until nothing is queued. It is the writer.
func (c *conn) writeRest() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.err == nil && len(c.rest)+len(c.out) > 0 {
		b := c.rest
		if len(b) == 0 {
			b = c.takeOut()
		}
		c.rest = b
		c.mu.Unlock()
		_, err := c.socket.Write(b)
		c.mu.Lock()
		if err != nil {
			c.fail(err)
		}
		c.rest = nil
		if c.spare == nil && cap(b) <= maxSpare {
			c.spare = b[:0]
		}
	}
	c.writing, c.rest = false, nil
	c.wakeSenders()
	c.flush(true)
}

// wakeSenders wakes the calls that wait for a window or for their turn.
func (c *conn) wakeSenders() {
	for i, s := range c.senders {
		s.sender.wake()
		c.senders[i] = nil
	}
	c.senders = c.senders[:0]
}

// largeWrite is what one write of a long message needs.
type largeWrite struct {
	heads  []byte
	pieces net.Buffers
	rest   net.Buffers // of pieces, while they are written
}

// sendLarge sends a message that is not copied as a whole. The caller holds mu.
func (s *stream) sendLarge(prefix []byte, data mem.BufferSlice) error {
	c := s.conn
	from := messageCursor{prefix: prefix, data: data}
	left := len(prefix) + data.Len()
	var w stall
	for left > 0 {
		for !s.over && (s.window <= 0 || c.window <= 0 || c.writing) {
			c.flush(true) // the header of the response, for one
			if s.over || s.window > 0 && c.window > 0 && !c.writing {
				break
			}
			if s.inline {
				c.takeOver()
				continue
			}
			s.waitToSend(&w, left)
		}
		if s.over {
			c.senders = slices.DeleteFunc(c.senders, func(other *stream) bool { return other == s })
			return contextError(s.err)
		}
		n := int(min(int64(left), s.window, c.window, int64(maxWriteFrames*c.maxFrame), maxWrite))
		if c.direct == nil {
			n = min(n, maxCopied)
		}
		s.window -= int64(n)
		c.window -= int64(n)
		left -= n
		c.life.sent = true
		if c.direct == nil {
			from.copyFrames(c, s.id, n)
			c.flush(true)
			continue
		}
		c.writePieces(s.id, &from, n)
	}
	c.flush(true)
	return nil
}

// writePieces writes the queued frames, and n bytes of a message behind them from where they lie. The caller is
// the writer then.
func (c *conn) writePieces(id uint32, from *messageCursor, n int) {
	out := c.takeOut()
	l := &c.large
	l.heads, l.pieces = l.heads[:0], l.pieces[:0]
	if need := (n/c.maxFrame + 1) * h2frame.HeadLen; cap(l.heads) < need {
		l.heads = make([]byte, 0, need)
	}
	if len(out) > 0 {
		l.pieces = append(l.pieces, out)
	}
	for n > 0 {
		k := min(n, c.maxFrame)
		at := len(l.heads)
		l.heads = h2frame.AppendHead(l.heads, k, http2.FrameData, 0, id)
		l.pieces = append(l.pieces, l.heads[at:])
		l.pieces = from.pieces(l.pieces, k)
		n -= k
	}
	c.writing = true
	c.mu.Unlock()
	l.rest = l.pieces
	_, err := l.rest.WriteTo(c.direct)
	c.mu.Lock()
	clear(l.pieces)
	if err != nil {
		c.fail(err)
	}
	c.written(out)
}

// messageCursor is a place in a message.
type messageCursor struct {
	prefix []byte
	data   mem.BufferSlice
	at     int // in the first of data
}

// next returns at most n bytes from here on, and moves behind them.
func (m *messageCursor) next(n int) []byte {
	if len(m.prefix) > 0 {
		b := m.prefix[:min(n, len(m.prefix))]
		m.prefix = m.prefix[len(b):]
		return b
	}
	for {
		b := m.data[0].ReadOnlyData()[m.at:]
		if len(b) > n {
			m.at += n
			return b[:n]
		}
		m.data, m.at = m.data[1:], 0
		if len(b) > 0 {
			return b
		}
	}
}

func (m *messageCursor) pieces(to net.Buffers, n int) net.Buffers {
	for n > 0 {
		b := m.next(n)
		to = append(to, b)
		n -= len(b)
	}
	return to
}

// copyFrames queues n bytes.
func (m *messageCursor) copyFrames(c *conn, id uint32, n int) {
	for n > 0 {
		k := min(n, c.maxFrame)
		n -= k
		c.out = h2frame.AppendHead(c.out, k, http2.FrameData, 0, id)
		for k > 0 {
			b := m.next(k)
			c.out = append(c.out, b...)
			k -= len(b)
		}
	}
}
