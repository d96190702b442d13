package lane

import (
	"context"
	"net"
	"sync"
)

// watch interrupts a lane when the context of its requests ends. It follows one
// context for as long as requests come with it, so that a request costs the
// comparison of two channels.
type watch struct {
	done <-chan struct{} // of the followed context; only bind's caller uses it
	mu   struct {
		sync.Mutex
		stop   func() bool
		ended  chan struct{} // closed when interrupt has returned
		closed bool
	}
}

// bind follows ctx instead of the previous context. It fails if ctx has ended or
// the watch is closed.
func (w *watch) bind(ctx context.Context, interrupt func()) error {
	w.mu.Lock()
	stop, ended := w.mu.stop, w.mu.ended
	w.mu.stop = nil
	w.mu.Unlock()
	w.done = nil
	if stop != nil && !stop() {
		<-ended // it would interrupt the next request
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mu.closed {
		return net.ErrClosed
	}
	w.done = ctx.Done()
	if w.done == nil {
		return nil
	}
	over := make(chan struct{})
	w.mu.ended = over
	w.mu.stop = context.AfterFunc(ctx, func() {
		defer close(over)
		interrupt()
	})
	return nil
}

// close stops following. It may be called from any goroutine.
func (w *watch) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.closed = true
	if w.mu.stop != nil {
		w.mu.stop()
		w.mu.stop = nil
	}
}
