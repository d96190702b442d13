package h2

import (
	"runtime"

	"golang.org/x/net/http2"

	"triton/pkg/h2frame"
)

// flush writes the queued frames, unless another goroutine does. The caller holds mu, which flush releases.
// It never waits for the peer: what the socket does not take at once gets a goroutine of its own.
//
// A read often has the responses of several lanes. Those call again at once, so that one write can have the
// requests of all: the first one yields to the others before it writes.
func (c *Conn) flush() {
	if c.flushing || len(c.out) == 0 || c.err != nil {
		c.mu.Unlock()
		return
	}
	c.flushing = true
	if c.awaited > 0 {
		c.awaited = 0
		c.mu.Unlock()
		runtime.Gosched()
		c.mu.Lock()
	}
	for c.quick != nil && c.err == nil && len(c.out) > 0 {
		b := c.takeOut()
		c.mu.Unlock()
		n, err := c.quick.TryWrite(b)
		c.mu.Lock()
		if err != nil {
			c.fail(writeError(err))
		}
		if c.rest = b[n:]; len(c.rest) > 0 {
			break
		}
		c.spare = b[:0]
	}
	if c.err == nil && len(c.rest)+len(c.out) > 0 {
		c.wg.Go(c.writeRest) // flushing stays
		c.mu.Unlock()
		return
	}
	c.flushed()
	c.mu.Unlock()
}

func (c *Conn) takeOut() []byte {
	b := c.out
	c.out, c.spare = c.spare[:0], nil
	return b
}

// writeRest writes until nothing is queued.
func (c *Conn) writeRest() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.err == nil && len(c.rest)+len(c.out) > 0 {
		b := c.rest
		if c.rest = nil; len(b) == 0 {
			b = c.takeOut()
		}
		c.mu.Unlock()
		_, err := c.socket.Write(b)
		c.mu.Lock()
		if c.spare == nil {
			c.spare = b[:0]
		}
		if err != nil {
			c.fail(writeError(err))
		} else if len(c.out) < maxQueued {
			c.wakeBlocked()
		}
	}
	c.flushed()
}

// flushed ends the turn of a writer. The caller holds mu.
func (c *Conn) flushed() {
	c.flushing = false
	c.wakeBlocked()
}

func writeError(err error) error { return &lostError{"error writing to server: ", err} }

// lostError is the failure of a read or a write.
type lostError struct {
	what string
	err  error
}

func (e *lostError) Error() string { return e.what + e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

// pump queues as much of a call's message as the windows and the queue allow. It reports whether it queued
// something. The caller holds mu.
func (c *Conn) pump(call *Call) bool {
	progress := false
	for call.left > 0 && len(c.out) < maxQueued {
		n := int(min(int64(call.left), int64(c.maxFrame), maxPart, call.window, c.window))
		if n <= 0 {
			break
		}
		progress = true
		call.left -= n
		call.window -= int64(n)
		c.window -= int64(n)
		flags := http2.Flags(0)
		if call.left == 0 && call.last {
			flags, call.halfClosed = http2.FlagDataEndStream, true
		}
		c.out = h2frame.AppendHead(c.out, n, http2.FrameData, flags, call.id)
		for n > 0 {
			part := call.parts[0]
			k := min(n, len(part))
			c.out = append(c.out, part[:k]...)
			if n -= k; k == len(part) {
				call.parts = call.parts[1:]
			} else {
				call.parts[0] = part[k:]
			}
		}
	}
	return progress
}

// closeSend queues the end of the request. The caller holds mu.
func (c *Conn) closeSend(call *Call) {
	call.halfClosed = true
	c.out = h2frame.AppendHead(c.out, 0, http2.FrameData, http2.FlagDataEndStream, call.id)
}
