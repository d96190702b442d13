package ensemble

import (
	"triton/pkg/status"
	"triton/server/infer"
	"triton/server/stats"
)

// respondReady sends the responses that are complete, and ends the flow when no step is
// in flight.
func (f *flow) respondReady() {
	idle := len(f.steps) == 0
	if f.err == nil {
		for n, iteration := range f.responsesDue {
			resp, err := f.response(iteration)
			if err != nil {
				f.setError(err)
				break
			}
			f.sent, f.over = true, idle && n == len(f.responsesDue)-1
			if f.over {
				f.finish(resp)
			} else {
				f.request.Respond(resp, false)
			}
			if !f.over && f.request.State() == infer.Answered { // a contained panic ended it
				f.failAndCancel(f.request.Failure())
				break
			}
		}
	}
	f.responsesDue = f.responsesDue[:0]
	if !idle || f.over {
		return
	}
	f.over = true
	switch {
	case f.err == nil && (f.sent || f.e.decoupled):
		f.succeed()
		f.request.Respond(nil, true)
	case f.err == nil:
		f.fail(status.New(status.InvalidArg,
			"%sunexpected deadlock, at least one output is not set while no more ensemble steps can be made", f.request.Tag()))
	default:
		f.fail(f.err)
	}
}

// response makes the response of one iteration.
func (f *flow) response(iteration int) (*infer.Response, error) {
	resp := infer.NewResponse()
	g := f.e.graph
	for i := range g.outputs {
		p := &g.outputs[i]
		if !f.wanted[p.tensor] {
			continue
		}
		t := resp.AddOutput()
		v := f.tensors[p.tensor].read(iteration, t)
		if v.absent {
			resp.Outputs = resp.Outputs[:len(resp.Outputs)-1]
			f.e.opts.Log.Debug("Composing models did not output tensor " + p.name)
			continue
		}
		t.Name = p.name
		if len(resp.Outputs) == 1 { // Triton repeats the parameters for every output
			v.correlation.describe(resp)
		}
		var err error
		if t.Shape, err = g.outerShape(p, convert(t.Shape, v.rows, p.dims, g.batching)); err != nil {
			resp.Release()
			return nil, err
		}
	}
	return resp, nil
}

// finish sends the last response. It fails the request when the client's memory is too
// small for it.
func (f *flow) finish(resp *infer.Response) {
	r := f.request
	r.Hold()
	r.Respond(resp, true)
	if err := r.Failure(); err != nil {
		f.stampTimes()
		r.ReplaceError(f.countFailure(err))
	} else {
		f.succeed()
	}
	r.Deliver()
}

// succeed counts the request as successful. It is called before the last response is sent.
func (f *flow) succeed() {
	r, now := f.request, infer.Now()
	f.stampTimes()
	f.e.opts.Stats.Executed(&stats.Batch{
		Rows: r.Rows(), Requests: 1, Succeeded: r.Rows(), Total: now - r.Times.Received, End: now,
		Input: f.sums.input, Infer: f.sums.infer, Output: f.sums.output,
	})
	if f.e.opts.Stats.Detailed() {
		f.e.opts.Stats.Observe(stats.Sample{Total: now - r.Times.Received, Input: f.sums.input, Infer: f.sums.infer, Output: f.sums.output})
	}
	if !f.e.decoupled {
		f.e.opts.Stats.FirstResponse(now - r.Times.Received)
	}
}

// fail counts the request as failed and answers it with err. Only the first call has an
// effect. If a contained panic has already answered the request, fail only counts it.
func (f *flow) fail(err error) {
	if f.errorSent {
		return
	}
	f.errorSent = true
	if f.request.State() != infer.Answered {
		f.stampTimes()
	}
	f.request.Fail(f.countFailure(err))
}

// countFailure counts the request as failed and returns its error with the ensemble's name.
func (f *flow) countFailure(err error) error {
	f.e.opts.Stats.Fail(stats.Other, infer.Now()-f.request.Times.Received)
	return &status.Error{Code: status.CodeOf(err), Msg: "in ensemble '" + f.e.name + "', " + status.From(err).Msg, Cause: err}
}

// stampTimes stores the summed times of the steps in the request. If this request is a step
// of another ensemble, that ensemble reads them.
func (f *flow) stampTimes() {
	t, d := &f.request.Times, &f.sums
	t.ComputeStart, t.InputEnd, t.OutputStart, t.ComputeEnd = 0, d.input, d.input+d.infer, d.input+d.infer+d.output
}

// free releases a flow that is over and puts it into the pool, unless its values could not
// be released.
func (f *flow) free() {
	clean := true
	for i := range f.tensors {
		clean = f.contained(f.tensors[i].reset) && clean
	}
	for _, m := range f.models {
		f.contained(m.Release)
	}
	e, r := f.e, f.request
	f.mu.Lock()
	f.request, f.busy = nil, false
	clear(f.events)
	f.events = f.events[:0]
	f.mu.Unlock()
	clear(f.models)
	f.models = f.models[:0]
	f.sent, f.errorSent, f.over, f.err, f.sums = false, false, false, nil, durations{}
	if clean {
		e.flows.Put(f)
	}
	f.contained(r.Release)
	e.flowEnded()
}
