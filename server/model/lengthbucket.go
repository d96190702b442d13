// Length buckets pad requests to one of a few lengths, so that requests of similar length share a batch,
// and trim their outputs.

package model

import (
	"context"

	"triton/pkg/modelconfig/extension"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// lengthRunner pads requests for the next runner.
type lengthRunner struct {
	next    infer.Runner
	lengths *extension.Lengths
	skip    int // leading dimensions that are the batch's
	pool    *tensor.Pool
}

var _ infer.Runner = (*lengthRunner)(nil)

// newLengthRunner puts length buckets in front of next. batching says that the first
// dimension of every tensor is the batch.
func newLengthRunner(next infer.Runner, l *extension.Lengths, batching bool, pool *tensor.Pool) *lengthRunner {
	b := &lengthRunner{next: next, lengths: l, pool: pool}
	if batching {
		b.skip = 1
	}
	return b
}

// Infer pads the request, runs it and waits for its one response.
func (b *lengthRunner) Infer(ctx context.Context, r *infer.Request) (*infer.Response, error) {
	if err := b.pad(r); err != nil {
		r.Release()
		return nil, err
	}
	return b.next.Infer(ctx, r)
}

// Submit pads the request and queues it.
func (b *lengthRunner) Submit(r *infer.Request) error {
	if err := b.pad(r); err != nil {
		return err
	}
	return b.next.Submit(r)
}

// Ready reports whether requests can be served now.
func (b *lengthRunner) Ready() bool { return b.next.Ready() }

// Drain drains the next runner.
func (b *lengthRunner) Drain(ctx context.Context) error { return b.next.Drain(ctx) }

// countable returns the shape for counting bytes: a batch dimension of 0 becomes 1.
func (b *lengthRunner) countable(shape tensor.Shape) tensor.Shape {
	if b.skip == 0 || shape[0] != 0 {
		return shape
	}
	shape = shape.Clone()
	shape[0] = 1
	return shape
}
