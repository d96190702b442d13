package trace

import (
	"cmp"
	"slices"
	"sync"

	otel "go.opentelemetry.io/otel/trace"

	"triton/server/infer"
)

// request is a sampled request with its trace and those of the requests that models made to serve
// it.
type request struct {
	tracer  *Tracer
	sampler *sampler

	sampled int64            // by infer.Now
	wall    int64            // from infer.Now to Unix time
	remote  otel.SpanContext // of the client
	span    otel.SpanContext // of the whole request

	mu             sync.Mutex
	traces         []*Trace // by id; the first is the request's own
	frontendEvents []event
	sent           bool // the frontend emits no more events
	unfinished     int  // traces that began and did not end
	written        bool // all have ended, and the request is written
}

// event is a timestamp, or a tensor.
type event struct {
	name   string
	at     int64  // by infer.Now
	tensor []byte // JSON; nil for a timestamp
}

// Trace is the trace of one request.
type Trace struct {
	request    *request
	id, parent uint64
	span       otel.SpanContext

	// Written for the events of the core, which never overlap.
	model, version, name string
	begin, end           int64
	times                infer.Times
	tensors              []event
	activities           []event // under the request's mu
	batch                *batch
}

var _ infer.Trace = (*Trace)(nil)

// add adds a trace to the request. parent is 0 for the request's own.
func (q *request) add(parent uint64) *Trace {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := &Trace{request: q, id: q.tracer.ids.Add(1), parent: parent}
	if q.tracer.spans != nil {
		t.span = newSpanContext(q.span)
	}
	q.traces = append(q.traces, t)
	return t
}

// Child returns the trace of a request that a model makes while it serves this one.
func (t *Trace) Child() infer.Trace { return t.request.add(t.id) }

// Observe records an event.
func (t *Trace) Observe(e infer.Event) {
	switch e.Kind {
	case infer.EventReceived:
		t.received(e.Request)
	case infer.EventExecuted:
		if t.request.tracer.spans != nil {
			t.batch = newBatch(e.Batch)
		}
	case infer.EventResponded:
		t.responded(e.Response)
	case infer.EventEnded:
		t.ended(e.Request)
	case infer.EventTimestamp:
		t.timestamp(e.Name, e.At)
	case infer.EventActivity:
		t.activity(e.Name, e.At)
	case infer.EventSent:
		t.request.update(func(q *request) { q.sent = true })
	}
}

func (t *Trace) received(r *infer.Request) {
	t.request.update(func(q *request) { q.unfinished++ })
	t.model, t.version, t.name = r.ModelName, r.ModelVersion, r.ID
	t.begin = infer.Now()
	for i := range r.Inputs {
		t.tensor("TENSOR_QUEUE_INPUT", &r.Inputs[i])
	}
}

func (t *Trace) responded(resp *infer.Response) {
	if resp.Err != nil {
		return
	}
	for i := range resp.Outputs {
		t.tensor("TENSOR_BACKEND_OUTPUT", &resp.Outputs[i])
	}
}

func (t *Trace) ended(r *infer.Request) {
	if t.begin == 0 {
		return // it was refused
	}
	// Not the current time: since its last stamp the core has only waited for the frontend.
	t.times, t.end = r.Times, r.Times.Answered
	if r.Times.ComputeStart != 0 {
		t.end = max(t.end, r.Times.ComputeEnd)
	}
	if t.end == 0 {
		t.end = infer.Now()
	}
	t.request.update(func(q *request) { q.unfinished-- })
}

// timestamp records a timestamp of the frontend.
func (t *Trace) timestamp(name string, at int64) {
	if t.request.sampler.level&timestamps == 0 {
		return
	}
	q := t.request
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.written {
		q.frontendEvents = append(q.frontendEvents, event{name: name, at: at})
	}
}

// update applies a change under the lock and writes the request once the frontend and all traces
// have ended.
func (q *request) update(change func(*request)) {
	q.mu.Lock()
	change(q)
	last := q.sent && q.unfinished == 0 && !q.written
	q.written = q.written || last
	q.mu.Unlock()
	if !last {
		return
	}
	if s := q.tracer.spans; s != nil {
		s.export(q)
	} else {
		q.sampler.collect(q.json())
	}
	q.sampler.release()
}

// core returns the timestamps of the core: those of the request, and those of its execution.
// They are nil when the request was refused.
func (t *Trace) core() (handling, compute []event) {
	if t.begin == 0 || t.request.sampler.level&timestamps == 0 {
		return nil, nil
	}
	handling = append(handling, event{name: "REQUEST_START", at: t.begin})
	if t.times.Queued != 0 {
		handling = append(handling, event{name: "QUEUE_START", at: t.times.Queued})
	}
	handling = append(handling, event{name: "REQUEST_END", at: t.end})
	if t.times.ComputeStart != 0 {
		compute = []event{
			{name: "COMPUTE_START", at: t.times.ComputeStart},
			{name: "COMPUTE_INPUT_END", at: t.times.InputEnd},
			{name: "COMPUTE_OUTPUT_START", at: t.times.OutputStart},
			{name: "COMPUTE_END", at: t.times.ComputeEnd},
		}
	}
	return handling, compute
}

// inOrder sorts events by time. The order of simultaneous events does not change.
func inOrder(events []event) []event {
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	return events
}
