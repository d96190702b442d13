package load

import (
	"context"
	"sync"
	"sync/atomic"

	"triton/pkg/client/lane"
	"triton/pkg/measure"
)

const unlimited = -1

// worker keeps one request in flight while it has requests left to send.
type worker struct {
	g         *Generator
	id        int
	remaining atomic.Int64 // requests to send; unlimited, or 0 to pause
	wake      chan struct{}
	recorder  measure.Recorder
	busy      atomic.Bool
	err       atomic.Pointer[error]

	idle struct {
		sync.Mutex
		now     bool
		waiting []chan struct{} // closed when the worker becomes idle
	}
}

func newWorker(g *Generator, id int) *worker {
	w := &worker{g: g, id: id, wake: make(chan struct{}, 1)}
	if g.live {
		w.recorder.Histogram = &measure.Histogram{}
	}
	return w
}

// setQuota replaces the number of requests left to send.
func (w *worker) setQuota(n int64) {
	w.remaining.Store(n)
	if n == 0 {
		return
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// whenIdle returns a channel that is closed when the worker has no request in flight.
func (w *worker) whenIdle() <-chan struct{} {
	c := make(chan struct{})
	w.idle.Lock()
	defer w.idle.Unlock()
	if w.idle.now && w.remaining.Load() == 0 {
		close(c)
		return c
	}
	w.idle.waiting = append(w.idle.waiting, c)
	return c
}

func (w *worker) setIdle(idle bool) {
	w.idle.Lock()
	defer w.idle.Unlock()
	w.idle.now = idle
	if idle {
		for _, c := range w.idle.waiting {
			close(c)
		}
		w.idle.waiting = nil
	}
}

func (w *worker) run() {
	defer w.setIdle(true)
	err := w.work()
	if err != nil && w.g.ctx.Err() == nil {
		w.err.Store(&err)
		w.g.fail()
	}
}

func (w *worker) work() error {
	ctx := w.g.ctx
	if !w.await(ctx) {
		return nil
	}
	conn, err := w.g.dialer.Dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()

	w.recorder.Start(lane.Now())
	x := lane.Exchange{Keep: w.g.requests.Check != nil}
	for next := uint64(w.id); ; {
		w.busy.Store(true)
		if next, err = w.send(ctx, conn, &x, next); err != nil {
			return err
		}
		w.busy.Store(false)
		if !w.await(ctx) {
			return nil
		}
	}
}

// send sends until the quota is spent. next counts the requests of all workers;
// this one sends every n-th.
func (w *worker) send(ctx context.Context, conn lane.Conn, x *lane.Exchange, next uint64) (uint64, error) {
	req := &w.g.requests
	steps := uint64(len(req.Prepared))
	for {
		step := 0
		if steps > 1 {
			step = int(next * uint64(req.Batch) % steps)
			next += uint64(w.g.active.Load())
		}
		if err := conn.Do(ctx, req.Prepared[step], x); err != nil {
			return next, err
		}
		w.recorder.Add(x.Start, x.End, x.Send, x.Receive)
		if req.Check != nil {
			if err := req.Check(step, x); err != nil {
				return next, err
			}
		}
		if w.remaining.Load() != unlimited && w.spend() {
			return next, nil
		}
	}
}

// spend counts a completed request and reports whether the quota is spent.
func (w *worker) spend() bool {
	for {
		n := w.remaining.Load()
		switch {
		case n == unlimited:
			return false
		case n == 0:
			return true
		case w.remaining.CompareAndSwap(n, n-1):
			if n > 1 {
				return false
			}
			w.finishQuota()
			return true
		}
	}
}

// finishQuota signals the generator if this was the last worker with a quota.
func (w *worker) finishQuota() {
	if w.g.withQuota.Add(-1) != 0 {
		return
	}
	select {
	case w.g.quotaSpent <- struct{}{}:
	default:
	}
}

// await waits until the worker has requests to send. It returns false when ctx ends.
func (w *worker) await(ctx context.Context) bool {
	for w.remaining.Load() == 0 {
		w.setIdle(true)
		select {
		case <-w.wake:
		case <-ctx.Done():
			return false
		}
		// The loop then reads remaining again. If Drain ran in between, it has either seen
		// this worker idle or waits for it to become idle again.
		w.setIdle(false)
	}
	return ctx.Err() == nil
}
