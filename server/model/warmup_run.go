package model

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"triton/pkg/log"
	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/infer"
)

// Run runs all samples on one instance, each as one batch, and waits for them. run
// consumes the core's references to the requests. Run stops at the first sample that
// fails and returns its error.
func (p *warmUpPlan) Run(ctx context.Context, at backend.Placement, run func([]*infer.Request)) error {
	for i := range p.samples {
		s := &p.samples[i]
		for n := range s.count {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			p.opts.Log.Log(ctx, log.Verbose(1), fmt.Sprintf("model '%s' instance %s is running warmup sample '%s' for iteration %d",
				p.opts.Config.GetName(), at.Name, s.name, n+1))
			if err := p.runOnce(ctx, s, at, run); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxErrorRows bounds the length of an error, which has a text for each row, as in Triton.
const maxErrorRows = 64

// runOnce runs a sample once.
func (p *warmUpPlan) runOnce(ctx context.Context, s *warmUpSample, at backend.Placement, run func([]*infer.Request)) error {
	if limit := int(p.opts.Config.GetMaxBatchSize()); s.rows != 1 && s.rows > limit {
		text := fmt.Sprintf("batch size %d for '%s', max allowed is %d; ", s.rows, at.Name, limit)
		return s.failed(strings.Repeat(text, min(s.rows, maxErrorRows)))
	}
	answers := &warmUpResults{}
	requests := make([]*infer.Request, s.rows)
	for i := range requests {
		r, err := p.request(s)
		if err != nil {
			return err // unreachable: readWarmUp has checked it
		}
		r.Sink = answers
		requests[i] = r
	}
	answers.unfinished.Add(len(requests))
	run(requests)
	answers.wait(ctx, requests)
	for _, r := range requests {
		r.Release()
	}
	if text := answers.errors.String(); text != "" {
		return s.failed(text)
	}
	return nil
}

func (s *warmUpSample) failed(text string) error {
	return status.New(status.InvalidArg, "failed to run warmup sample '%s': %s", s.name, text)
}

// warmUpResults is the sink of all requests of a batch.
type warmUpResults struct {
	unfinished sync.WaitGroup // requests without a final response
	mu         sync.Mutex
	errors     strings.Builder
}

// Send keeps the error of a response.
func (a *warmUpResults) Send(resp *infer.Response, final bool) {
	if resp != nil {
		if resp.Err != nil {
			a.mu.Lock()
			a.errors.WriteString(status.From(resp.Err).Msg)
			a.errors.WriteString("; ")
			a.mu.Unlock()
		}
		resp.Release()
	}
	if final {
		a.unfinished.Done()
	}
}

// wait waits for all final responses. The end of ctx cancels the requests, for backends
// that answer after their call.
func (a *warmUpResults) wait(ctx context.Context, requests []*infer.Request) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		for _, r := range requests {
			r.Cancel()
		}
	})
	a.unfinished.Wait()
	if !stop() {
		<-done
	}
}
