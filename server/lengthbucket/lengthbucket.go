// Package lengthbucket pads requests to one of a few lengths, so that requests of similar
// length share a batch, and trims their outputs. It wraps the runner of a model version.
package lengthbucket

import (
	"context"

	"triton/pkg/modelconfig/extension"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// Runner pads requests for the next runner.
type Runner struct {
	next    infer.Runner
	lengths *extension.Lengths
	skip    int // leading dimensions that are the batch's
	pool    *tensor.Pool
}

var _ infer.Runner = (*Runner)(nil)

// New puts length buckets in front of next. batching says that the first
// dimension of every tensor is the batch.
func New(next infer.Runner, l *extension.Lengths, batching bool, pool *tensor.Pool) *Runner {
	b := &Runner{next: next, lengths: l, pool: pool}
	if batching {
		b.skip = 1
	}
	return b
}

// Infer pads the request, runs it and waits for its one response.
func (b *Runner) Infer(ctx context.Context, r *infer.Request) (*infer.Response, error) {
	if err := b.pad(r); err != nil {
		r.Release()
		return nil, err
	}
	return b.next.Infer(ctx, r)
}

// Submit pads the request and queues it.
func (b *Runner) Submit(r *infer.Request) error {
	if err := b.pad(r); err != nil {
		return err
	}
	return b.next.Submit(r)
}

// Ready reports whether requests can be served now.
func (b *Runner) Ready() bool { return b.next.Ready() }

// Drain drains the next runner.
func (b *Runner) Drain(ctx context.Context) error { return b.next.Drain(ctx) }

// countable returns the shape for counting bytes: a batch dimension of 0 becomes 1.
func (b *Runner) countable(shape tensor.Shape) tensor.Shape {
	if b.skip == 0 || shape[0] != 0 {
		return shape
	}
	shape = shape.Clone()
	shape[0] = 1
	return shape
}
