package httpapi

import (
	"context"
	"net"
	"syscall"
	"time"
)

// patience is how long an inference runs before the connection is watched for
// the client going away. Most are over by then.
const patience = 20 * time.Millisecond

// watch cancels a request whose client goes away while it runs.
type watch struct {
	nc     net.Conn
	raw    syscall.RawConn // nil: this connection cannot be watched
	cancel context.CancelFunc
	timer  *time.Timer
	done   chan struct{}
}

func newWatch(nc net.Conn, cancel context.CancelFunc) *watch {
	w := &watch{nc: nc, cancel: cancel, done: make(chan struct{}, 1)}
	if sc, ok := nc.(syscall.Conn); ok && canPeek {
		if raw, err := sc.SyscallConn(); err == nil {
			w.raw = raw
		}
	}
	return w
}

// start begins to watch, after a while. The connection must not be read until
// stop.
func (w *watch) start() {
	if w == nil || w.raw == nil {
		return
	}
	if w.timer == nil {
		w.timer = time.AfterFunc(patience, w.look)
		return
	}
	w.timer.Reset(patience)
}

// stop ends the watch. The read deadline is gone afterwards.
func (w *watch) stop() {
	if w == nil || w.raw == nil || w.timer.Stop() {
		return
	}
	_ = w.nc.SetReadDeadline(time.Unix(1, 0)) // wakes look
	<-w.done
	_ = w.nc.SetReadDeadline(time.Time{})
}

// look waits until something comes: the next request, which it leaves where it
// is, or the end.
func (w *watch) look() {
	gone := false
	err := w.raw.Read(func(fd uintptr) bool {
		var ready bool
		ready, gone = peek(fd)
		return ready
	})
	if err == nil && gone {
		w.cancel()
	}
	w.done <- struct{}{}
}
