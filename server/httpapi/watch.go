package httpapi

import (
	"errors"
	"net"
	"syscall"
	"time"
)

// patience is how long an inference runs before the connection is watched for
// the client going away. Most are over by then.
const patience = 20 * time.Millisecond

// watch cancels a request whose client goes away while it runs.
type watch struct {
	c     *conn
	raw   syscall.RawConn // nil: one must read to see the end
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

// start begins to watch, after a while. The connection must not be read until
// stop.
func (w *watch) start() {
	if w == nil {
		return
	}
	if w.timer == nil {
		w.done = make(chan struct{}, 1)
		w.timer = time.AfterFunc(patience, w.look)
		return
	}
	w.timer.Reset(patience)
}

// stop ends the watch. The read deadline is gone afterwards.
func (w *watch) stop() {
	if w == nil || w.timer.Stop() {
		return
	}
	_ = w.c.nc.SetReadDeadline(time.Unix(1, 0)) // wakes look
	<-w.done
	_ = w.c.nc.SetReadDeadline(time.Time{})
}

// look waits until something comes: the next request or the end.
func (w *watch) look() {
	gone := false
	if w.raw != nil {
		gone = w.peek()
	} else {
		gone = w.read()
	}
	if gone {
		w.c.cancel()
	}
	w.done <- struct{}{}
}

// peek leaves what comes where it is.
func (w *watch) peek() (gone bool) {
	err := w.raw.Read(func(fd uintptr) bool {
		var ready bool
		ready, gone = peek(fd)
		return ready
	})
	return err == nil && gone
}

// read puts what comes behind what was read before, or over it when that has
// been used: nobody looks at the head any more while the model runs. A full
// buffer means that the client was there lately.
func (w *watch) read() (gone bool) {
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
