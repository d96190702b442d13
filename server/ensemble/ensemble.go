// Package ensemble runs models whose requests are answered by other models: a graph of
// steps that tensors connect. It moves tensors by reference and has no goroutine and no
// queue of its own. Package repository finds, loads and checks the models.
package ensemble

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"triton/pkg/inferencepb"
	"triton/server/infer"
	"triton/server/scheduler"
	"triton/server/stats"
)

// Options configure an Ensemble.
type Options struct {
	Config *inferencepb.ModelConfig
	// Models are the configurations of the steps' models. Config has passed the checks
	// against them.
	Models []*inferencepb.ModelConfig
	// Submitter finds the models of the steps.
	Submitter infer.Submitter
	Stats     *stats.Model
	Log       *slog.Logger
}

// Ensemble is one version of an ensemble.
type Ensemble struct {
	opts      Options
	name      string
	graph     *graph
	decoupled bool
	limits    []*limit // by step; nil: unlimited
	flows     sync.Pool

	running atomic.Int64 // flows
	closed  atomic.Bool
	once    sync.Once
	ended   chan struct{} // closed when the ensemble is closed and no flow runs
}

var (
	_ infer.Runner = (*Ensemble)(nil)
	_ infer.Owner  = (*Ensemble)(nil)
)

// New returns an ensemble.
func New(o Options) *Ensemble {
	e := &Ensemble{
		opts: o, name: o.Config.GetName(), graph: newGraph(o.Config, o.Models), ended: make(chan struct{}),
		decoupled: o.Config.Decoupled(),
	}
	for range e.graph.steps {
		var l *limit
		if n := o.Config.GetEnsembleScheduling().GetMaxInflightRequests(); n > 0 {
			l = &limit{max: int(n)}
		}
		e.limits = append(e.limits, l)
	}
	e.flows.New = func() any { return newFlow(e) }
	return e
}

// Infer runs one request and waits for its one response. The last ready step runs on the
// caller's goroutine if its model allows it.
func (e *Ensemble) Infer(ctx context.Context, r *infer.Request) (*infer.Response, error) {
	if ctx.Err() != nil {
		r.Release()
		return nil, infer.Cancelled(ctx)
	}
	r.Unary()
	r.CancelWith(ctx)
	if err := e.start(ctx, r); err != nil {
		r.Release()
		return nil, err
	}
	resp, err := r.Wait(ctx)
	if err != nil && ctx.Err() != nil && r.Cancelled() {
		return nil, infer.Cancelled(ctx)
	}
	return resp, err
}

// Submit starts a request whose Sink takes the responses.
func (e *Ensemble) Submit(r *infer.Request) error { return e.start(noCaller, r) }

// start starts a flow; ctx is the context of a waiting caller, or noCaller.
func (e *Ensemble) start(ctx context.Context, r *infer.Request) error {
	e.running.Add(1)
	if e.closed.Load() {
		e.flowEnded()
		return scheduler.ErrStopping(r)
	}
	if e.decoupled {
		r.Lend(e, true)
		r.Returned() // there is no call of a backend
	}
	e.flows.Get().(*flow).start(ctx, r)
	return nil
}

// acquire takes a reference to the model of a step.
func (e *Ensemble) acquire(step int) (infer.Callee, error) {
	n := &e.graph.steps[step]
	return e.opts.Submitter.Acquire(n.model, n.version)
}

// flowEnded records the end of a flow.
func (e *Ensemble) flowEnded() {
	if e.running.Add(-1) == 0 && e.closed.Load() {
		e.once.Do(func() { close(e.ended) })
	}
}

// Ready reports whether the models of all steps take requests.
func (e *Ensemble) Ready() bool {
	for i := range e.graph.steps {
		m, err := e.acquire(i)
		if err != nil {
			return false
		}
		ready := m.Ready()
		m.Release()
		if !ready {
			return false
		}
	}
	return true
}

// Drain stops accepting requests and waits for the accepted ones. When ctx ends first
// they continue, and Drain returns an error.
func (e *Ensemble) Drain(ctx context.Context) error {
	e.closed.Store(true)
	if e.running.Load() == 0 {
		e.once.Do(func() { close(e.ended) })
	}
	select {
	case <-e.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("ensemble '%s' version %s: requests are still in flight: %w", e.name, e.opts.Stats.Version(), context.Cause(ctx))
	}
}

// Responded counts the first response. Triton has no statistics for the others.
func (e *Ensemble) Responded(r *infer.Request, delivery infer.Delivery) {
	if delivery.Index == 0 && !delivery.Empty {
		e.opts.Stats.FirstResponse(delivery.End - r.Times.Received)
	}
}

// Kept does nothing: the flow holds the request.
func (e *Ensemble) Kept(*infer.Request) {}

// Completed is never called: a flow has no late answers.
func (e *Ensemble) Completed(*infer.Request, error) {}

// Finished releases the reference of a decoupled request.
func (e *Ensemble) Finished(r *infer.Request) { r.Release() }
