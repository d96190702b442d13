package traffic

import (
	"context"
	"errors"
	"sync"
	"time"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/pkg/trafficrules"
	"triton/server/infer"
)

// routed is a model with rules: the fallback until Choose, then the chosen version, whose answers a
// canary counts or a shadow copies. It is pooled; Choose and Release end the caller's use of it.
type routed struct {
	infer.Model // with a reference
	service     *Service
	policy      *policy
	at          trafficrules.Target // of the model

	samples [trafficrules.MaxChain]sample
	n       int
	shadow  *shadow
}

var routedModels = sync.Pool{New: func() any { return &routed{} }}

// Choose returns the version that answers a request. The caller's reference becomes one to it.
func (d *routed) Choose(r *infer.Request, h infer.Headers) infer.Model {
	p := d.policy
	inSequence := isSequence(d.Model, r)
	if inSequence {
		now := time.Now()
		if model, version, ok := p.sequences.find(r, now); ok {
			d.useInSequence(trafficrules.Target{Model: model, Version: version})
			return d.end()
		}
		if !r.SequenceStart { // it began before there were rules
			d.useInSequence(trafficrules.Target{Model: p.name.name})
			p.sequences.put(r, d.Model, now)
			return d.end()
		}
	}
	d.chooseByRules(r, h)
	if inSequence {
		p.sequences.put(r, d.Model, time.Now())
	}
	return d.end()
}

// hop is the decision of one policy on the way to the chosen version.
type hop struct {
	policy *policy
	rule   string
	target int
}

// chooseByRules exchanges the held model for the target of the rules, which may lead through those of
// other names.
func (d *routed) chooseByRules(r *infer.Request, h infer.Headers) {
	var hops [trafficrules.MaxChain]hop
	n := 0
	var at trafficrules.Target
	for p := d.policy; p != nil && n < len(hops); n++ {
		i, rule := p.choose(r, h, d.service.opts.Random)
		hops[n] = hop{p, rule, i}
		at = p.targets[i]
		if d.shadow == nil {
			d.shadow = p.shadow
		}
		p = d.service.next(p, at)
	}
	used := d.use(at)
	for _, h := range hops[:n] {
		if !used {
			h.rule = ruleFallback
		}
		h.policy.decisions.add(d.Name(), d.Version(), h.rule)
		// A match is not a sample: its requests may be of another kind than those of the
		// stable target.
		if c := h.policy.canary; c != nil && (h.rule == ruleWeight || h.rule == ruleSticky) {
			d.addSample(c.Choose(h.target == h.policy.canaryAt))
		}
	}
}

// isSequence reports whether a request belongs to a sequence, which stays on its version.
func isSequence(m infer.Model, r *infer.Request) bool {
	if r.SequenceID == 0 && r.SequenceIDStr == "" {
		return false
	}
	c := m.Config()
	return c.GetSequenceBatching() != nil || c.GetEnsembleScheduling() != nil
}

// useInSequence exchanges the held model for the version that a sequence is on.
func (d *routed) useInSequence(t trafficrules.Target) {
	rule := ruleSequence
	if !d.use(t) {
		rule = ruleFallback
	}
	p := d.policy
	p.decisions.add(d.Name(), d.Version(), rule)
	if p.canary == nil {
		return
	}
	switch (trafficrules.Target{Model: d.Name(), Version: d.Version()}) {
	case p.targets[p.canaryAt]:
		d.addSample(p.canary.Choose(true))
	case p.targets[p.stableAt]:
		d.addSample(p.canary.Choose(false))
	}
}

// addSample makes the answer count in a canary.
func (d *routed) addSample(r sample) {
	d.samples[d.n] = r
	d.n++
}

// use exchanges the held model for a target. It reports false, and keeps the held model, if the
// target is not ready, or decoupled where the held model is not, which frontends have read already.
func (d *routed) use(t trafficrules.Target) bool {
	if t == d.at {
		return true
	}
	m, err := d.service.Service.Model(t.Model, t.Version)
	if err != nil {
		return false
	}
	if m.Config().Decoupled() != d.Config().Decoupled() {
		m.Release()
		return false
	}
	d.Model.Release()
	d.Model, d.at = m, t
	return true
}

// Metadata returns the metadata of the held model, with all ready versions of its model.
func (d *routed) Metadata() *inferencepb.ModelMetadataResponse {
	own := d.Model.Metadata()
	if d.at.Version == "" {
		return own
	}
	newest, err := d.service.Service.Model(d.at.Model, "")
	if err != nil {
		return own
	}
	defer newest.Release()
	return &inferencepb.ModelMetadataResponse{
		Name: own.GetName(), Versions: newest.Metadata().GetVersions(), Platform: own.GetPlatform(),
		Inputs: own.GetInputs(), Outputs: own.GetOutputs(),
	}
}

// end returns the held model alone if nothing observes its answers.
func (d *routed) end() infer.Model {
	if d.n > 0 || d.shadow != nil {
		return d
	}
	m := d.Model
	d.free()
	return m
}

func (d *routed) free() {
	*d = routed{}
	routedModels.Put(d)
}

// Release releases the model.
func (d *routed) Release() {
	d.Model.Release()
	d.free()
}

// Infer runs a request and observes its answer.
func (d *routed) Infer(ctx context.Context, r *infer.Request) (*infer.Response, error) {
	var copied *shadowCopy
	if d.shadow != nil {
		copied = d.shadow.Begin(r, d.Model)
		defer func() { copied.Drop() }() // after a panic
	}
	start := infer.Now()
	resp, err := d.Model.Infer(ctx, r)
	addSamples(d.samples[:d.n], infer.Now()-start, err)
	copied.Finish(resp)
	copied = nil
	return resp, err
}

// addSamples counts an answer in canaries. Requests that their callers cancelled say nothing about the
// version.
func addSamples(in []sample, ns int64, err error) {
	if len(in) == 0 || err != nil && (errors.Is(err, context.Canceled) || status.CodeOf(err) == status.Cancelled) {
		return
	}
	for _, r := range in {
		r.Add(ns, err != nil)
	}
}

// Submit submits a request and observes its responses.
func (d *routed) Submit(r *infer.Request) error {
	w := watches.Get().(*watch)
	*w = watch{next: r.Sink, samples: d.samples, n: d.n, start: infer.Now()}
	if d.shadow != nil {
		w.copied = d.shadow.Begin(r, d.Model)
	}
	r.Sink = w
	accepted := false
	defer func() {
		if !accepted { // after a panic a response may still be sent, so w is not reused
			w.drop()
		}
	}()
	err := d.Model.Submit(r)
	if accepted = err == nil; !accepted {
		addSamples(w.samples[:w.n], infer.Now()-w.start, err)
	}
	return err
}
