package ensemble

import (
	"context"
	"sync"

	"triton/server/infer"
)

// flow is the state of one request of an ensemble.
//
// Everything that happens to it is an event. One goroutine at a time works on a flow: it
// handles its own event and those that arrive meanwhile. So no goroutine waits for a
// lock, responses keep their order, and a step that answers at once ends in the same loop
// and not in a recursion.
type flow struct {
	e *Ensemble

	mu      sync.Mutex
	request *infer.Request // nil when the flow is over
	events  []event
	busy    bool // a goroutine works on the flow

	// The goroutine that works on the flow owns these fields.
	tensors      []tensorValues
	active       []bool // by step; the response is the last
	wanted       []bool // by tensor: the response needs it
	models       []infer.Model
	steps        []*step // in flight
	ready        []readyStep
	responsesDue []int // iterations whose outputs are complete and not sent yet
	callerStep   *step // the caller will run it
	spare        []*step
	rows         int
	sent         bool
	ended        bool // the step of the current event has ended; it may already be reused
	errorSent    bool // the request has its error, or is about to
	over         bool
	err          error
	sums         durations
}

// event is an event of a flow.
type event struct {
	kind  eventKind
	step  *step
	resp  *infer.Response
	final bool
	took  durations // with final
}

// noCaller is the context of work that no caller waits for.
var noCaller context.Context

type eventKind uint8

const (
	flowStarted      eventKind = iota
	responseArrived            // by a step's model
	stepAdmitted               // a step that waited for its limit may run now
	requestCancelled           // the request was cancelled
)

// durations are compute times in nanoseconds.
type durations struct{ input, infer, output int64 }

func newFlow(e *Ensemble) *flow {
	g := e.graph
	return &flow{
		e: e, tensors: make([]tensorValues, len(g.readers)), active: make([]bool, len(g.steps)+1),
		wanted: make([]bool, len(g.readers)), models: make([]infer.Model, 0, len(g.steps)),
	}
}

// start starts the flow of a request. The flow may be over when it returns.
func (f *flow) start(ctx context.Context, r *infer.Request) {
	r.Times.Queued = infer.Now()
	f.mu.Lock() // a late Withdraw of the previous request may read f.request
	f.request, f.rows, f.busy = r, r.Batch, true
	f.events = append(f.events, event{kind: flowStarted})
	f.mu.Unlock()
	r.Enter(f)
	f.work(ctx)
}

var _ infer.Queue = (*flow)(nil)

// Withdraw cancels the steps in flight. The request is answered when all of them have
// ended.
func (f *flow) Withdraw(r *infer.Request) bool {
	f.mu.Lock()
	if f.request != r { // the request is over; the flow may serve another one
		f.mu.Unlock()
		return false
	}
	f.add(event{kind: requestCancelled})
	return true
}

// post adds an event.
func (f *flow) post(ev event) {
	f.mu.Lock()
	f.add(ev)
}

// add adds an event and handles it unless another goroutine works on the flow. The caller
// holds f.mu; add releases it.
func (f *flow) add(ev event) {
	f.events = append(f.events, ev)
	if f.busy {
		f.mu.Unlock()
		return
	}
	f.busy = true
	f.mu.Unlock()
	f.work(noCaller)
}

// work handles events until there are none. ctx is the context of a caller that waits for
// the answer and may run a step itself, or noCaller.
func (f *flow) work(ctx context.Context) {
	for {
		f.mu.Lock()
		if len(f.events) > 0 {
			ev := f.events[0]
			f.events = append(f.events[:0], f.events[1:]...)
			f.mu.Unlock()
			f.handleContained(ev, ctx != nil)
			if f.over {
				f.free()
				return
			}
			continue
		}
		s := f.callerStep
		f.callerStep, f.busy = nil, false
		f.mu.Unlock()
		if s == nil {
			return
		}
		ev := s.runContained(ctx)
		f.mu.Lock()
		f.events = append(f.events, ev)
		if f.busy {
			f.mu.Unlock()
			return
		}
		f.busy = true
		f.mu.Unlock()
	}
}
