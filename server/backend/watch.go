package backend

import (
	"context"
	"sync"
	"time"

	"triton/pkg/status"
	"triton/server/infer"
)

// watchInterval is how often a Watch checks. A call that gRPC gives up a few
// milliseconds before its deadline must be answered by then.
const watchInterval = 3 * time.Millisecond

// Watch interrupts a run whose result no caller needs: all callers of its batch have
// left, or the context of Execute ended. It checks every few milliseconds, by a timer
// that an idle instance does not have; a batch costs two locks and no goroutine. An
// instance owns one.
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

// NewWatch returns a Watch that calls interrupt at most once for a batch, between Begin
// and End. interrupt must not block.
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

// End stops watching and reports whether the run was interrupted.
func (w *Watch) End() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ctx, w.batch = nil, nil
	return w.interrupted
}

// Close stops the timer.
func (w *Watch) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.timer.Stop()
}

// check is called by the timer.
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

// Interrupted returns the error of a batch that was interrupted because its callers
// left, or because ctx, the context of Execute, ended.
func Interrupted(ctx context.Context) error {
	if ctx.Err() != nil {
		return &status.Error{Code: status.Unavailable, Msg: "interrupted because the server stops", Cause: context.Cause(ctx)}
	}
	return status.New(status.Cancelled, "")
}
