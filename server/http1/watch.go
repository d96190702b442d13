package http1

import (
	"errors"
	"net"
	"syscall"
	"time"
)

// watchDelay is the time after which the connection of a running request is watched for a
// disconnect. Most requests are over by then.
const watchDelay = 20 * time.Millisecond

// watch cancels a request whose client disconnects while it runs.
type watch struct {
	c     *conn
	raw   syscall.RawConn // nil: only a read detects the end
	timer *time.Timer
	done  chan struct{}
}

func newWatch(c *conn) *watch {
	w := &watch{c: c}
	if sc, ok := c.nc.(syscall.Conn); ok && canPeek {
		if raw, err := sc.SyscallConn(); err == nil {
			w.raw = raw
		}
	}
	return w
}

// start begins to watch after watchDelay. The connection must not be read until stop.
func (w *watch) start() {
	if w.timer == nil {
		w.done = make(chan struct{}, 1)
		w.timer = time.AfterFunc(watchDelay, w.wait)
		return
	}
	w.timer.Reset(watchDelay)
}

// stop ends the watch. It removes the read deadline.
func (w *watch) stop() {
	if w.timer.Stop() {
		return
	}
	_ = w.c.nc.SetReadDeadline(longAgo) // wakes wait
	<-w.done
	_ = w.c.nc.SetReadDeadline(time.Time{})
}

// wait blocks until something arrives: the next request or the end.
func (w *watch) wait() {
	closed := false
	if w.raw != nil {
		closed = w.peek()
	} else {
		closed = w.read()
	}
	if closed {
		w.c.cancel()
	}
	w.done <- struct{}{}
}

// peek detects input without consuming it.
func (w *watch) peek() (closed bool) {
	err := w.raw.Read(func(fd uintptr) bool {
		var ready bool
		ready, closed = peek(fd)
		return ready
	})
	return err == nil && closed
}

// read appends the arriving bytes to those that were read before, or overwrites these if
// they were used: nothing reads the head while the model runs. A full buffer means that the
// client was connected a moment ago.
func (w *watch) read() (closed bool) {
	c := w.c
	if c.r == c.w {
		c.r, c.w = 0, 0
	}
	if c.w == len(c.buf) {
		return false
	}
	n, err := c.nc.Read(c.buf[c.w:])
	c.w += n
	var late net.Error
	return n == 0 && err != nil && (!errors.As(err, &late) || !late.Timeout())
}
