// Package ensemble runs models whose requests are answered by other models: a
// graph of steps that tensors connect. It moves tensors by reference, keeps no
// goroutine and no queue of its own, and does not find, load or check models;
// that is done by repository.
package ensemble

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/server/infer"
	"triton/server/scheduler"
	"triton/server/stats"
)

// Options say what an Ensemble runs.
type Options struct {
	Config *inferencepb.ModelConfig
	// Parts are the configurations of the steps' models. Config has passed the
	// checks against them.
	Parts []*inferencepb.ModelConfig
	// Models finds the models of the steps.
	Models infer.Submitter
	Stats  *stats.Model
	Log    *slog.Logger
}

// Ensemble is one version of an ensemble.
type Ensemble struct {
	opts      Options
	name      string
	graph     *graph
	decoupled bool
	limits    []*limit // by step; nil: none
	flows     sync.Pool

	running atomic.Int64 // flows
	closed  atomic.Bool
	once    sync.Once
	ended   chan struct{} // closed when it is closed and nothing runs
}

var (
	_ infer.Runner = (*Ensemble)(nil)
	_ infer.Owner  = (*Ensemble)(nil)
)

// New makes an ensemble.
func New(o Options) *Ensemble {
	e := &Ensemble{
		opts: o, name: o.Config.GetName(), graph: newGraph(o.Config, o.Parts), ended: make(chan struct{}),
		decoupled: o.Config.GetModelTransactionPolicy().GetDecoupled(),
	}
	for range e.graph.steps {
		var l *limit
		if n := o.Config.GetEnsembleScheduling().GetMaxInflightRequests(); n > 0 {
			l = &limit{most: int(n)}
		}
		e.limits = append(e.limits, l)
	}
	e.flows.New = func() any { return newFlow(e) }
	return e
}

// Infer runs one request and waits for its one response. A step that nothing
// else is to be done beside runs on the caller's goroutine, if its model can.
func (e *Ensemble) Infer(ctx context.Context, r *infer.Request) (*infer.Response, error) {
	if ctx.Err() != nil {
		r.Release()
		return nil, cancelled(ctx)
	}
	r.Unary()
	r.Bind(ctx)
	if err := e.start(ctx, r); err != nil {
		r.Release()
		return nil, err
	}
	resp, err := r.Wait(ctx)
	if err != nil && ctx.Err() != nil && r.Cancelled() {
		return nil, cancelled(ctx)
	}
	return resp, err
}

func cancelled(ctx context.Context) error {
	return &status.Error{Code: status.Cancelled, Cause: context.Cause(ctx)}
}

// Submit starts a request whose Sink takes the responses.
func (e *Ensemble) Submit(r *infer.Request) error { return e.start(nobody, r) }

// start begins with a request; ctx is that of a caller that waits for it, nil
// when none does.
func (e *Ensemble) start(ctx context.Context, r *infer.Request) error {
	e.running.Add(1)
	if e.closed.Load() {
		e.leave()
		return scheduler.Stopping(r)
	}
	if e.decoupled {
		r.Lend(e, true)
		r.Returned() // no call of an engine is to be waited for
	}
	e.flows.Get().(*flow).start(ctx, r)
	return nil
}

// hold takes a reference to the model of a step.
func (e *Ensemble) hold(step int) (infer.Callee, error) {
	n := &e.graph.steps[step]
	return e.opts.Models.Hold(n.model, n.version)
}

// leave ends what running counts.
func (e *Ensemble) leave() {
	if e.running.Add(-1) == 0 && e.closed.Load() {
		e.once.Do(func() { close(e.ended) })
	}
}

// Ready says whether the models of all steps take requests.
func (e *Ensemble) Ready() bool {
	for i := range e.graph.steps {
		m, err := e.hold(i)
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

// Drain stops accepting requests and lets the accepted ones finish. When ctx
// ends first those in flight go on, and the error says so.
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

// Responded looks at the first response. Triton has no statistics of the others.
func (e *Ensemble) Responded(r *infer.Request, did infer.Delivery) {
	if did.Index == 0 && !did.Empty {
		e.opts.Stats.FirstResponse(did.End - r.Times.Received)
	}
}

// Kept needs nothing: the flow holds the request.
func (e *Ensemble) Kept(*infer.Request) {}

// Completed is never called: a flow has no late answers.
func (e *Ensemble) Completed(*infer.Request, error) {}

// Finished gives back the reference that the open request is held by.
func (e *Ensemble) Finished(r *infer.Request) { r.Release() }
