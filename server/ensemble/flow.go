package ensemble

import (
	"context"
	"sync"

	"triton/server/infer"
)

// flow is one request on its way through the steps.
//
// Whatever happens to it is an event. The goroutine that brings one while
// nobody is at work does the work, and that of events which come meanwhile: so
// nothing waits for a lock, responses keep their order, and a step that answers
// at once ends in the same loop and not in a recursion.
type flow struct {
	e *Ensemble

	mu      sync.Mutex
	request *infer.Request // nil when the flow is over
	events  []event
	busy    bool // somebody is at work

	// The rest belongs to whoever is at work.
	wires   []wire
	active  []bool // by step; the answer is the last
	wanted  []bool // by tensor: the answer needs it
	models  []infer.Model
	steps   []*step // in flight
	ready   []launch
	answers []int // iterations whose outputs are there and not sent yet
	own     *step // the caller will run it
	spare   []*step
	rows    int
	sent    bool
	ended   bool // the step of the event at hand; it may serve as another one already
	failing bool // the request has its error, or is about to
	over    bool
	err     error
	sums    durations
}

// event is something that happened to a flow.
type event struct {
	kind  kind
	step  *step
	resp  *infer.Response
	final bool
	took  durations // with final
}

// nobody is the context of work whose goroutine nobody waits on.
var nobody context.Context

type kind uint8

const (
	begin     kind = iota
	responded      // by a step's model
	admitted       // a step that waited for its limit may run
	abandoned      // nobody waits for the request any more
)

// durations are what computing took, in nanoseconds.
type durations struct{ input, infer, output int64 }

func newFlow(e *Ensemble) *flow {
	g := e.graph
	return &flow{
		e: e, wires: make([]wire, len(g.readers)), active: make([]bool, len(g.steps)+1),
		wanted: make([]bool, len(g.readers)), models: make([]infer.Model, 0, len(g.steps)),
	}
}

// start begins with a request. The flow may be over when it returns.
func (f *flow) start(ctx context.Context, r *infer.Request) {
	r.Times.Queued = infer.Now()
	f.mu.Lock() // a late Withdraw of the request before this one may look
	f.request, f.rows, f.busy = r, r.Batch, true
	f.events = append(f.events, event{kind: begin})
	f.mu.Unlock()
	r.Enter(f)
	f.work(ctx)
}

var _ infer.Queue = (*flow)(nil)

// Withdraw cancels what is in flight for a request. Its answer comes when all
// of that has ended.
func (f *flow) Withdraw(r *infer.Request) bool {
	f.mu.Lock()
	if f.request != r { // it is over, and the flow may serve another
		f.mu.Unlock()
		return false
	}
	f.add(event{kind: abandoned})
	return true
}

// post brings an event.
func (f *flow) post(ev event) {
	f.mu.Lock()
	f.add(ev)
}

// add does the work if nobody is at it, and unlocks.
func (f *flow) add(ev event) {
	f.events = append(f.events, ev)
	if f.busy {
		f.mu.Unlock()
		return
	}
	f.busy = true
	f.mu.Unlock()
	f.work(nobody)
}

// work handles events until there are none. ctx is that of a caller that waits
// for the answer and may run a step itself; nil for all others.
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
		s := f.own
		f.own, f.busy = nil, false
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

func (f *flow) handle(ev event, caller bool) {
	switch ev.kind {
	case begin:
		f.begin()
	case responded:
		f.respond(ev)
	case admitted:
		ev.step.placed = true
		if f.err != nil {
			f.discard(ev.step, f.err)
		} else {
			f.launch(ev.step, caller)
		}
	case abandoned:
		f.abandon()
	}
	f.launchReady(caller)
	f.conclude()
}

// begin takes the models and the inputs.
func (f *flow) begin() {
	g := f.e.graph
	for i := range g.steps {
		m, err := f.e.hold(i)
		if err != nil {
			f.err = err
			return
		}
		f.models = append(f.models, m)
	}
	g.needed(f.request.Wants, f.active)
	for i := range g.outputs {
		f.wanted[g.outputs[i].tensor] = f.request.Wants(g.outputs[i].name)
	}
	for i := range g.inputs {
		p := &g.inputs[i]
		v := value{rows: f.rows, member: memberOf(f.request)}
		if in := f.request.InputNear(i, p.name); in != nil {
			v.dataType, v.data = in.DataType, in.Data
			v.shape = g.enter(p, f.spareShape(p.tensor), in.Shape)
			in.Data = noData // it moves
		} else {
			v.absent = true
		}
		f.arrive(p.tensor, v)
	}
}

// respond takes a response of a step's model.
func (f *flow) respond(ev event) {
	if ev.resp != nil {
		f.see(ev.step, ev.resp)
	}
	if ev.final {
		f.end(ev)
	}
}

// see looks at a response and releases it.
func (f *flow) see(s *step, resp *infer.Response) {
	defer resp.Release()
	switch {
	case resp.Err != nil:
		f.fails(resp.Err)
	case f.err == nil:
		f.take(s, resp)
	}
}

// end ends a step with its final response.
func (f *flow) end(ev event) {
	f.ended = true
	f.sums.add(ev.took)
	if ev.step.placed {
		defer f.e.limits[ev.step.index].release()
	}
	f.forget(ev.step)
}

// take makes tensors of a step's outputs.
func (f *flow) take(s *step, resp *infer.Response) {
	n := &f.e.graph.steps[s.index]
	m := memberOf(s.request)
	changed, err := m.read(resp.Parameters)
	if err != nil {
		f.fails(err)
		return
	}
	for i := range n.outputs {
		p := &n.outputs[i]
		v := value{member: m, changed: changed}
		if n.batching {
			v.rows = s.request.Batch
		}
		if out := output(resp, i, p.name); out != nil {
			v.dataType, v.data = out.DataType, out.Data
			v.shape = append(f.spareShape(p.tensor), out.Shape...)
			out.Data = noData
		} else {
			v.absent = true
		}
		f.arrive(p.tensor, v)
	}
}

// fails notes the first error. No step begins after it, those that wait for their
// limit among them.
func (f *flow) fails(err error) {
	if f.err != nil {
		return
	}
	f.err = err
	for _, s := range f.steps {
		f.withdraw(s, err)
	}
}

// abandon cancels every step in flight. Those that wait for their limit end at
// once, those that wait in a queue while they are cancelled.
func (f *flow) abandon() {
	for _, s := range f.steps {
		f.cancel(s, errCancelled())
	}
}

// stop fails the flow and cancels every step in flight.
func (f *flow) stop(err error) {
	f.fails(err)
	for _, s := range f.steps {
		s.request.Cancel()
	}
}

// cancel cancels a step; the error is that of one that waits for its limit.
func (f *flow) cancel(s *step, err error) {
	if !f.withdraw(s, err) {
		s.request.Cancel()
	}
}

// withdraw ends a step that waits for its limit; false when it does not.
func (f *flow) withdraw(s *step, err error) bool {
	waited := f.e.limits[s.index].withdraw(s)
	if waited {
		f.discard(s, err)
	}
	return waited
}
