package backend

import (
	"context"
	"sync"
	"time"

	"triton/pkg/status"
	"triton/server/infer"
)

// watchInterval is how often a Watch looks: often enough for a call that gRPC gives up a
// few milliseconds before its deadline to be answered by then.
const watchInterval = 3 * time.Millisecond

// Watch interrupts an engine whose result nobody wants any more: all callers of
// its batch have left, or the context of Execute ended. It looks every few
// milliseconds, by a timer that an idle instance does not have; a batch costs two
// locks and no goroutine. An instance owns one.
type Watch struct {
	interrupt func()
	timer     *time.Timer

	mu          sync.Mutex
	ctx         context.Context // of the batch
	batch       *infer.Batch    // nil between batches
	interrupted bool
	armed       bool
	closed      bool
}

// NewWatch makes a Watch that calls interrupt at most once for a batch, between
// Begin and End. It must not block.
func NewWatch(interrupt func()) *Watch {
	w := &Watch{interrupt: interrupt}
	w.timer = time.AfterFunc(time.Hour, w.check)
	w.timer.Stop()
	return w
}

// Begin starts to watch.
func (w *Watch) Begin(ctx context.Context, b *infer.Batch) {
	w.mu.Lock()
	w.ctx, w.batch, w.interrupted = ctx, b, false
	if !w.armed {
		w.armed = true
		w.timer.Reset(watchInterval)
	}
	w.mu.Unlock()
}

// End reports whether the engine was interrupted.
func (w *Watch) End() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ctx, w.batch = nil, nil
	return w.interrupted
}

// Close ends the timer.
func (w *Watch) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.timer.Stop()
}

// check is the timer's.
func (w *Watch) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed = w.batch != nil && !w.closed
	if !w.armed {
		return
	}
	if !w.interrupted && (w.ctx.Err() != nil || w.batch.Abandoned()) {
		w.interrupted = true
		w.interrupt()
	}
	w.timer.Reset(watchInterval)
}

// Interrupted returns the error of a batch that was not run to its end, for callers
// that left or because ctx, that of Execute, ended.
func Interrupted(ctx context.Context) error {
	if ctx.Err() != nil {
		return &status.Error{Code: status.Unavailable, Msg: "interrupted because the server stops", Cause: context.Cause(ctx)}
	}
	return status.New(status.Cancelled, "")
}
