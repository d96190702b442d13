package ensemble

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/server/infer"
)

// step is one request to the model of a step. It is the request's Sink.
type step struct {
	flow      *flow
	index     int
	iteration int
	request   *infer.Request
	counted   bool // its limit counts it as running
}

// launchReady makes and starts the requests of all ready steps, in the order of the
// steps.
func (f *flow) launchReady(caller bool) {
	if len(f.ready) > 1 {
		slices.SortFunc(f.ready, func(a, b readyStep) int {
			return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.iteration, b.iteration))
		})
	}
	for _, l := range f.ready {
		switch {
		case l.step == f.e.graph.responseStep():
			f.responsesDue = append(f.responsesDue, l.iteration)
		case f.err == nil:
			s := f.prepare(l)
			if s.counted = f.e.limits[l.step].acquire(s); s.counted {
				f.launch(s, caller)
			}
		}
	}
	f.ready = f.ready[:0]
}

// prepare makes the request of a step. Inputs are moved or shared, never copied.
func (f *flow) prepare(l readyStep) *step {
	s := f.newStep()
	s.index, s.iteration, s.request = l.step, l.iteration, f.request.Child()
	filled := false
	defer func() {
		if !filled { // fill panicked: no model gets the request
			s.request.Release()
			s.request.Release()
		}
	}()
	f.fill(s)
	filled = true
	f.steps = append(f.steps, s)
	return s
}

// fill adds the inputs and the requested outputs of a step's request.
func (f *flow) fill(s *step) {
	n := &f.e.graph.steps[s.index]
	r, joined := s.request, false
	for i := range n.inputs {
		p := &n.inputs[i]
		t := r.AddInput()
		v := f.tensors[p.tensor].read(s.iteration, t)
		if v.correlationSet {
			f.joinSequence(r, v.correlation, joined)
			joined = true
		}
		if v.absent {
			r.Inputs = r.Inputs[:len(r.Inputs)-1]
			continue
		}
		t.Name = p.name
		t.Shape = convert(t.Shape, v.rows, p.dims, n.batching)
	}
	for i := range n.outputs {
		r.Outputs = append(r.Outputs, kserve.RequestedOutput{Name: n.outputs[i].name, Binary: true})
	}
}

// joinSequence gives a request the correlation that the model of an earlier step has set. If
// joined is set, the request has one from another step already: it keeps that one, and an
// error is logged if the two differ.
func (f *flow) joinSequence(r *infer.Request, c correlation, joined bool) {
	if !joined {
		c.applyTo(r)
	} else if c != correlationOf(r) {
		f.e.opts.Log.Error("responses of several models give a step of an ensemble different sequences; the first counts", "ensemble", f.e.name)
	}
}

func (f *flow) newStep() *step {
	n := len(f.spare)
	if n == 0 {
		return &step{flow: f}
	}
	s := f.spare[n-1]
	f.spare = f.spare[:n-1]
	return s
}

// launch submits the request of a step. For a waiting caller the latest step is kept, because
// the caller runs it itself, and the step that was kept before is submitted.
func (f *flow) launch(s *step, caller bool) {
	if caller && !f.e.graph.steps[s.index].decoupled {
		s, f.callerStep = f.callerStep, s
		if s == nil {
			return
		}
	}
	s.request.Sink = s
	if err := f.submit(s); err != nil {
		f.e.opts.Log.Error(fmt.Sprintf("Ensemble '%s' failed to schedule step : %s", f.e.name, err))
		f.refuse(s, err)
	}
}

// discard ends a step that was never submitted.
func (f *flow) discard(s *step, err error) {
	defer f.refuse(s, err)
	s.request.Release()
}

// refuse ends a step with an error: its model has no request that it could answer.
func (f *flow) refuse(s *step, err error) {
	resp := infer.NewResponse()
	resp.Err = err
	f.post(event{kind: responseArrived, step: s, resp: resp, final: true})
}

// run runs a step on the goroutine of a caller.
func (s *step) run(ctx context.Context) event {
	ev := event{kind: responseArrived, step: s, final: true}
	resp, err := s.flow.models[s.index].Infer(ctx, s.request)
	if err != nil {
		resp = infer.NewResponse()
		resp.Err = err
	} else {
		ev.took.set(s.request)
	}
	ev.resp = resp
	return ev
}

// Send posts a response of the model as an event.
func (s *step) Send(resp *infer.Response, final bool) {
	ev := event{kind: responseArrived, step: s, resp: resp, final: final}
	if final {
		ev.took.set(s.request)
	}
	s.flow.post(ev)
}

// removeStep removes a step after its final response.
func (f *flow) removeStep(s *step) {
	i := slices.Index(f.steps, s)
	last := len(f.steps) - 1
	f.steps[i] = f.steps[last]
	f.steps = f.steps[:last]
	s.request.Release()
	s.request = nil
	f.spare = append(f.spare, s)
}

// set computes the durations from the times of a request that has its final response. A
// backend of a decoupled model may send that before its call returns: then the end of the
// call is not known yet.
func (d *durations) set(r *infer.Request) {
	t := &r.Times
	switch {
	case t.ComputeEnd != 0:
		*d = durations{t.InputEnd - t.ComputeStart, t.OutputStart - t.InputEnd, t.ComputeEnd - t.OutputStart}
	case t.ComputeStart != 0:
		*d = durations{infer: infer.Now() - t.ComputeStart}
	}
}

func (d *durations) add(o durations) {
	d.input += o.input
	d.infer += o.infer
	d.output += o.output
}

// errCancelled returns the error for a cancelled step. It has no text, as in Triton.
func errCancelled() error { return status.New(status.Cancelled, "") }
