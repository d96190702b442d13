package python

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"triton/pkg/log"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/backend/child"
	"triton/server/infer"
)

// events handles the frames that a child sends by itself, and owns what these frames
// refer to: the requests that the model has not answered and the memory that the child
// may use. One goroutine calls handle; Execute and Close use the same tables.
type events struct {
	model *model
	log   logger
	out   child.Message // of handle's goroutine
	timer *time.Timer   // of watchCalls; mu guards it

	metrics   backend.MetricTable
	readiness readiness
	starting  atomic.Bool // initialize has not returned
	life      context.Context
	stop      context.CancelFunc // the child has ended

	// keeping orders the calls of Keep and the removal of open requests. It is locked
	// before mu, and while a request that the core aborts is answered.
	keeping sync.Mutex

	mu struct {
		sync.Mutex
		open      map[uint64]openRequest
		lastOpen  uint64
		blocks    map[uint32]*tensor.Buffer
		lastBlock uint32
		sends     uint32     // number of responses that were handled, modulo 2^32
		sent      *sync.Cond // sends or ended has changed
		ended     bool       // the child has ended
		freed     bool       // its memory was released
		calls     map[uint32]*call
		watching  bool // the timer runs
	}
}

// newEvents returns the events of a child that is started in a context, whose values are
// those of the load.
func newEvents(ctx context.Context, m *model, name string) *events {
	e := &events{model: m, log: logger{log: m.spec.Log, model: m.spec.Name, instance: name}}
	e.mu.open, e.mu.blocks, e.mu.calls = map[uint64]openRequest{}, map[uint32]*tensor.Buffer{}, map[uint32]*call{}
	e.mu.sent = sync.NewCond(&e.mu)
	e.readiness.timeout = readinessTimeout
	e.starting.Store(true)
	e.life, e.stop = context.WithCancel(context.WithoutCancel(ctx))
	return e
}

// handle handles one frame. The error ends a child that does not keep to the protocol.
func (e *events) handle(p *child.Process, f child.Frame) error {
	r := child.NewReader(f.Body)
	known := true
	switch f.Kind {
	case frameLog:
		e.log.record(r)
	case frameSend:
		e.send(r)
	case frameRelease:
		e.release(r)
		e.forgotten(r)
	case frameReserve:
		e.reserve(p, r)
	case frameIsCancelled:
		e.isCancelled(p, r)
	case frameCall:
		e.call(p, r)
	case frameCancelCall:
		e.cancelCall(r)
	case frameMetric:
		e.metric(p, r)
	case frameControl:
		e.control(p, r)
	case frameReadiness:
		e.checked(r)
	default:
		known = false
	}
	if !known || r.Err() != nil {
		e.log.log.Error("a Python process sent a malformed frame and is ended", "model", e.log.model, "instance", e.log.instance, "frame", f.Kind)
		return fmt.Errorf("%w of type %d", child.ErrFrame, f.Kind)
	}
	return nil
}

// panicked logs a panic of handle.
func (e *events) panicked(v any) {
	log.Panicked(e.log.log, "panic while a frame of a Python process was handled", v, "model", e.log.model, "instance", e.log.instance)
}

// isCancelled answers whether a request is cancelled. One that is answered is not.
func (e *events) isCancelled(p *child.Process, r *child.Reader) {
	question, id := r.Uint32(), r.Uint64()
	e.mu.Lock()
	o := e.mu.open[id]
	cancelled := o.r != nil && o.r.Cancelled()
	e.mu.Unlock()
	text := ""
	if cancelled {
		text = "1"
	}
	e.answer(p, question, nil, text)
}

// answer answers a question of the child with a text or an error.
func (e *events) answer(p *child.Process, question uint32, err error, text string) {
	var m child.Message
	m.Begin(frameAnswer).Uint32(question)
	putText(&m, err, text)
	_ = p.Post(&m) // the body is short
}

// putText writes an error or a text.
func putText(m *child.Message, err error, text string) {
	if err != nil {
		m.Uint8(1)
		m.String(err.Error())
		return
	}
	m.Uint8(0)
	m.String(text)
}

// end is called when the child has ended and its last frame was handled, with the error
// for the requests that Execute left to it.
func (e *events) end(err error) {
	e.stop()
	e.readiness.end()
	var left []*infer.Request
	e.mu.Lock()
	e.mu.ended = true
	for id, o := range e.mu.open {
		if !o.running {
			delete(e.mu.open, id)
			if o.r != nil {
				left = append(left, o.r)
			}
		}
	}
	calls := e.takeCalls()
	e.mu.sent.Broadcast()
	e.mu.Unlock()
	for _, r := range left {
		r.Fail(err)
		r.LetGo()
	}
	for _, c := range calls {
		c.abandon()
	}
}

// free releases the memory of a child that has ended.
func (e *events) free() {
	e.stop()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mu.freed = true
	for number, b := range e.mu.blocks {
		delete(e.mu.blocks, number)
		b.Release()
	}
}
