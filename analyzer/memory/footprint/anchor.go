package footprint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"triton/analyzer/trial"
)

// maxWindows is how often a stress is repeated while memory grows.
const maxWindows = 3

// measure runs the phases of one server: load, warm, stress, idle, work, stop.
func (r *run) measure(ctx context.Context, instances int, why string, batches []int) (a Anchor) {
	a.Instances, a.Why = instances, why
	server, err := r.Subject.Start(ctx, instances)
	if err != nil {
		a.Failure = failure(err)
		return a
	}
	s := newSampler(ctx, r.Times.Sample, server.Memory)
	err = r.phases(ctx, server, s, &a, batches)
	if a.Peak == nil { // phases has ended early
		a.Peak = s.peak()
	}
	if read := s.close(); read != nil && err == nil {
		err = fmt.Errorf("read the memory of the server: %w", read)
	}
	if closed := server.Close(); err == nil {
		err = closed
	}
	if err != nil {
		a.Failure = failure(err)
	}
	return a
}

func failure(err error) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	return &Failure{trial.Other, err}
}

func (r *run) phases(ctx context.Context, server Server, s *sampler, a *Anchor, batches []int) (err error) {
	a.Loaded = s.awaitSettled(ctx, r.Times.Settle)
	if a.Proof, err = server.Warm(ctx); err != nil {
		return err
	}
	a.Warm = s.awaitSettled(ctx, r.Times.Settle)
	for _, b := range batches {
		if err := r.stress(ctx, server, s, a, b); err != nil {
			return err
		}
		a.Batches = append(a.Batches, BatchPoint{b, s.peak()})
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(r.Times.Idle):
	}
	a.Retained = s.awaitSettled(ctx, r.Times.Settle)
	a.Peak = s.peak()
	if a.IsCurve() {
		return nil
	}
	a.Work, err = server.Work(ctx)
	a.Worked = s.peak()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// IsCurve reports that the server ran smaller batches before the largest: it shows the memory by batch
// size. Allocators do not give back what the smaller ones took, so it is no point of the law.
func (a *Anchor) IsCurve() bool { return len(a.Batches) > 1 }

// stress repeats a window while memory grows.
func (r *run) stress(ctx context.Context, server Server, s *sampler, a *Anchor, batch int) error {
	for range maxWindows {
		s.reset()
		err := server.Stress(ctx, batch)
		s.now()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		if a.Growing = s.growing(); len(a.Growing) == 0 {
			break
		}
	}
	slices.Sort(a.Growing)
	return nil
}
