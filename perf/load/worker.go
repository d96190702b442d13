package load

import (
	"context"
	"sync"
	"sync/atomic"

	"triton/pkg/client/lane"
	"triton/pkg/measure"
)

const unlimited = -1

// worker keeps one request in flight as long as it has some left to send.
type worker struct {
	g    *Generator
	id   int
	left atomic.Int64 // requests to send; unlimited, or 0 to rest
	wake chan struct{}
	rec  measure.Recorder
	busy atomic.Bool
	err  atomic.Pointer[error]

	rest struct {
		sync.Mutex
		resting bool
		waiting []chan struct{} // closed when the worker rests
	}
}

func newWorker(g *Generator, id int) *worker {
	w := &worker{g: g, id: id, wake: make(chan struct{}, 1)}
	if g.live {
		w.rec.Histogram = &measure.Histogram{}
	}
	return w
}

// give replaces what is left to send.
func (w *worker) give(n int64) {
	w.left.Store(n)
	if n == 0 {
		return
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// rested is a channel that is closed once the worker has nothing in flight.
func (w *worker) rested() <-chan struct{} {
	c := make(chan struct{})
	w.rest.Lock()
	defer w.rest.Unlock()
	if w.rest.resting && w.left.Load() == 0 {
		close(c)
		return c
	}
	w.rest.waiting = append(w.rest.waiting, c)
	return c
}

func (w *worker) setResting(resting bool) {
	w.rest.Lock()
	defer w.rest.Unlock()
	w.rest.resting = resting
	if resting {
		for _, c := range w.rest.waiting {
			close(c)
		}
		w.rest.waiting = nil
	}
}

func (w *worker) run() {
	defer w.setResting(true)
	err := w.work()
	if err != nil && w.g.ctx.Err() == nil {
		w.err.Store(&err)
		w.g.fail()
	}
}

func (w *worker) work() error {
	ctx := w.g.ctx
	if !w.turn(ctx) {
		return nil
	}
	conn, err := w.g.dialer.Dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()

	w.rec.Start(lane.Now())
	x := lane.Exchange{Keep: w.g.requests.Check != nil}
	for next := uint64(w.id); ; {
		w.busy.Store(true)
		if next, err = w.send(ctx, conn, &x, next); err != nil {
			return err
		}
		w.busy.Store(false)
		if !w.turn(ctx) {
			return nil
		}
	}
}

// send keeps sending until the worker is to rest; next counts the requests of
// all workers, of which this one takes every n-th.
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
		w.rec.Add(x.Start, x.End, x.Send, x.Receive)
		if req.Check != nil {
			if err := req.Check(step, x); err != nil {
				return next, err
			}
		}
		if w.left.Load() != unlimited && w.spend() {
			return next, nil
		}
	}
}

// spend takes the request just completed off the quota and says whether the
// worker is to rest.
func (w *worker) spend() bool {
	for {
		n := w.left.Load()
		switch {
		case n == unlimited:
			return false
		case n == 0:
			return true
		case w.left.CompareAndSwap(n, n-1):
			if n > 1 {
				return false
			}
			w.finishQuota()
			return true
		}
	}
}

// finishQuota tells the generator when this was the last worker.
func (w *worker) finishQuota() {
	if w.g.quotas.Add(-1) != 0 {
		return
	}
	select {
	case w.g.drained <- struct{}{}:
	default:
	}
}

// turn waits until there is something to send; false when the load ends.
func (w *worker) turn(ctx context.Context) bool {
	for w.left.Load() == 0 {
		w.setResting(true)
		select {
		case <-w.wake:
		case <-ctx.Done():
			return false
		}
		// Looked at again afterwards: a pause that came in between must see
		// either a resting worker or wait for it.
		w.setResting(false)
	}
	return ctx.Err() == nil
}
