package ensemble

import "triton/server/infer"

func (f *flow) handle(ev event, caller bool) {
	switch ev.kind {
	case flowStarted:
		f.begin()
	case responseArrived:
		f.stepResponded(ev)
	case stepAdmitted:
		ev.step.counted = true
		if f.err != nil {
			f.discard(ev.step, f.err)
		} else {
			f.launch(ev.step, caller)
		}
	case requestCancelled:
		f.cancelSteps()
	}
	f.launchReady(caller)
	f.respondReady()
}

// begin acquires the models of the steps and stores the request's inputs.
func (f *flow) begin() {
	g := f.e.graph
	for i := range g.steps {
		m, err := f.e.acquire(i)
		if err != nil {
			f.err = err
			return
		}
		f.models = append(f.models, m)
	}
	g.markNeeded(f.request.Wants, f.active)
	for i := range g.outputs {
		f.wanted[g.outputs[i].tensor] = f.request.Wants(g.outputs[i].name)
	}
	for i := range g.inputs {
		p := &g.inputs[i]
		v := value{rows: f.rows, correlation: correlationOf(f.request)}
		if in := f.request.InputNear(i, p.name); in != nil {
			v.dataType, v.data = in.DataType, in.Data
			v.shape = g.innerShape(p, f.spareShape(p.tensor), in.Shape)
			in.Data = noData // the data moves
		} else {
			v.absent = true
		}
		f.arrive(p.tensor, v)
	}
}

// stepResponded handles a response of a step's model.
func (f *flow) stepResponded(ev event) {
	if ev.resp != nil {
		f.handleResponse(ev.step, ev.resp)
	}
	if ev.final {
		f.endStep(ev)
	}
}

// handleResponse reads a response and releases it.
func (f *flow) handleResponse(s *step, resp *infer.Response) {
	defer resp.Release()
	switch {
	case resp.Err != nil:
		f.setError(resp.Err)
	case f.err == nil:
		f.storeOutputs(s, resp)
	}
}

// endStep ends a step with its final response.
func (f *flow) endStep(ev event) {
	f.ended = true
	f.sums.add(ev.took)
	if ev.step.counted {
		defer f.e.limits[ev.step.index].release()
	}
	f.removeStep(ev.step)
}

// storeOutputs stores the outputs of a step as values of their tensors.
func (f *flow) storeOutputs(s *step, resp *infer.Response) {
	n := &f.e.graph.steps[s.index]
	c := correlationOf(s.request)
	changed, err := c.read(resp.Parameters)
	if err != nil {
		f.setError(err)
		return
	}
	for i := range n.outputs {
		p := &n.outputs[i]
		v := value{correlation: c, correlationSet: changed}
		if n.batching {
			v.rows = s.request.Batch
		}
		if out := outputNear(resp, i, p.name); out != nil {
			v.dataType, v.data = out.DataType, out.Data
			v.shape = append(f.spareShape(p.tensor), out.Shape...)
			out.Data = noData
		} else {
			v.absent = true
		}
		f.arrive(p.tensor, v)
	}
}
