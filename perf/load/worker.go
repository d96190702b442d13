package load

import (
	"context"
	"errors"
	"sync/atomic"

	"triton/pkg/client/lane"
	"triton/pkg/measure"
	"triton/pkg/status"
)

// worker sends one request at a time over a lane of its own.
type worker struct {
	options   *Options
	id        int
	conn      lane.Conn
	request   Request
	x         lane.Exchange
	rec       measure.Recorder
	started   atomic.Uint64
	busy      atomic.Bool // a request is in flight
	err       atomic.Pointer[error]
	errors    atomic.Uint64         // requests whose error was tolerated
	lastError atomic.Pointer[error] // the last of these errors
}

func newWorker(o *Options, id int) *worker {
	w := &worker{options: o, id: id}
	w.x.Keep = o.Check != nil || o.Record != nil
	if o.Live {
		w.rec.Histogram = &measure.Histogram{}
	}
	return w
}

// dial opens the lane.
func (w *worker) dial(ctx context.Context) (err error) {
	if w.conn, err = w.options.Dialer.Dial(ctx); err == nil {
		w.rec.Start(lane.Now())
	}
	return err
}

func (w *worker) close() {
	if w.conn != nil {
		_ = w.conn.Close()
	}
}

// send sends request n of the level and records it. scheduled is when it was to start; 0
// without a schedule.
func (w *worker) send(ctx context.Context, n uint64, scheduled int64) error {
	w.options.Source.Next(w.id, n, &w.request)
	_, err := w.exchange(ctx, scheduled)
	return err
}

// exchange sends the worker's request and records it. It reports false if the request was refused
// and the load goes on.
func (w *worker) exchange(ctx context.Context, scheduled int64) (answered bool, err error) {
	if err := w.do(ctx); err != nil {
		return false, w.tolerate(err)
	}
	w.record(scheduled)
	if w.options.Record != nil {
		w.options.Record(&w.request, &w.x)
	}
	if w.options.Check != nil {
		return true, w.options.Check(&w.request, &w.x)
	}
	return true, nil
}

// tolerate returns an error that ends the worker.
func (w *worker) tolerate(err error) error {
	if !w.options.TolerateErrors || !errors.As(err, new(*status.Error)) {
		return err
	}
	w.errors.Add(1)
	w.lastError.Store(&err)
	return nil
}

// endSequence ends the worker's open sequence, with a request that is not recorded.
func (w *worker) endSequence(ctx context.Context) error {
	if w.conn == nil || !w.options.Source.Finish(w.id, &w.request) {
		return nil
	}
	return w.do(ctx)
}

func (w *worker) do(ctx context.Context) error {
	w.started.Add(1)
	w.busy.Store(true)
	defer w.busy.Store(false)
	w.x.Sequence = w.request.Sequence
	return w.conn.Do(ctx, w.request.Prepared, &w.x)
}

// record records the exchange. A stream's final response without outputs does not count; a
// request that has only this one is not recorded.
func (w *worker) record(scheduled int64) {
	x := &w.x
	s := measure.Sample{End: x.End, Responses: 1, SequenceEnd: w.request.Sequence.End}
	if n := len(x.Responses); n > 0 {
		if x.EmptyFinal {
			n--
		}
		if n == 0 {
			w.rec.Wait(x.Start, x.End)
			return
		}
		s.End, s.Responses = x.Responses[n-1], int32(n)
	}
	s.Latency = s.End - x.Start
	if scheduled != 0 {
		s.Late = max(0, x.Start-scheduled)
	}
	w.rec.Add(s, x.Send, x.Receive)
	if x.EmptyFinal {
		w.rec.Wait(s.End, x.End)
	}
}
