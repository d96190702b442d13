package builtin

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/infer"
)

// Fault is the backend "fault": identity with faults on demand. A parameter named after
// a fault holds n, and every n-th batch of an instance has it:
//
//	fail     the batch fails as a whole
//	refuse   every request of the batch is answered with an error of its own
//	panic    the backend panics before it answers
//	broken   the batch fails with ErrBroken
//	stuck    the call blocks until all callers have left or the model is drained
//	late     the batch is answered after the call
//	silent   the last request of the batch gets no answer
//	twice    the first request of the batch gets two answers
//
// Four more parameters hold the text of an error: load_error, instance_error,
// restart_error (of all instances that replace broken ones) and close_error.
type Fault struct{}

var _ backend.Backend = Fault{}

// Load reads the faults.
func (Fault) Load(ctx context.Context, spec backend.Spec) (backend.Model, error) {
	m, err := load(ctx, "fault", spec)
	if err != nil {
		return nil, err
	}
	f := &faultModel{model: m, cfg: spec.Config}
	for _, p := range []struct {
		name  string
		every *int64
	}{
		{"fail", &f.fail},
		{"refuse", &f.refuse},
		{"panic", &f.panic},
		{"silent", &f.silent},
		{"twice", &f.twice},
		{"broken", &f.broken},
		{"stuck", &f.stuck},
		{"late", &f.late},
	} {
		*p.every = count(spec.Config, p.name)
	}
	return f, nil
}

func errorParameter(cfg *inferencepb.ModelConfig, name string) error {
	if text := cfg.GetParameters()[name].GetStringValue(); text != "" {
		return status.New(status.Internal, "%s", text)
	}
	return nil
}

type faultModel struct {
	*model
	cfg                                *inferencepb.ModelConfig
	fail, refuse, panic, silent, twice int64
	broken, stuck, late                int64
	hasBroken                          atomic.Bool // an instance is or was broken
}

func (f *faultModel) NewInstance(context.Context, backend.Placement) (backend.Instance, error) {
	if err := errorParameter(f.cfg, "instance_error"); err != nil {
		return nil, err
	}
	if f.hasBroken.Load() {
		if err := errorParameter(f.cfg, "restart_error"); err != nil {
			return nil, err
		}
	}
	return &faultInstance{faultModel: f, instance: f.instance()}, nil
}

func (f *faultModel) Close() error { return errorParameter(f.cfg, "close_error") }

type faultInstance struct {
	*faultModel
	instance *instance
	batches  int64
	answers  sync.WaitGroup // late answers
}

func (f *faultInstance) due(every int64) bool { return every > 0 && f.batches%every == 0 }

func (f *faultInstance) Execute(ctx context.Context, b *infer.Batch) error {
	f.batches++
	b.InputEnd = infer.Now()
	if err := pause(ctx, f.instance.delay, b.Abandoned); err != nil {
		return err
	}
	b.OutputStart = infer.Now()
	switch {
	case f.due(f.panic):
		f.hasBroken.Store(true)
		panic("fault: a panic was requested")
	case f.due(f.broken):
		f.hasBroken.Store(true)
		return status.New(status.Internal, "fault: a broken instance was requested: %w", backend.ErrBroken)
	case f.due(f.stuck):
		return pause(ctx, time.Duration(math.MaxInt64), b.Abandoned)
	case f.due(f.late):
		f.later(b)
		return nil
	case f.due(f.fail):
		return status.New(status.Internal, "fault: a failed batch was requested")
	}
	for i, r := range b.Requests {
		switch {
		case f.due(f.silent) && i == len(b.Requests)-1:
		case f.due(f.refuse):
			r.Fail(status.New(status.InvalidArg, "fault: a refused request was requested"))
		default:
			r.Respond(f.instance.answer(r), true)
		}
		if f.due(f.twice) && i == 0 {
			r.Respond(f.instance.answer(r), true)
		}
	}
	return nil
}

// later answers the batch after its call has returned.
func (f *faultInstance) later(b *infer.Batch) {
	for _, r := range b.Requests {
		if r.Membership.Null {
			continue
		}
		r.Keep()
		f.answers.Go(func() {
			r.Respond(f.instance.answer(r), true)
			r.LetGo()
		})
	}
}

func (f *faultInstance) Close() error {
	f.answers.Wait()
	return nil
}
