package builtin

import (
	"context"
	"time"

	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/infer"
)

// Repeat is the backend "repeat": one response for each element of IN, with that
// element as OUT and its index as IDX, each after the number of milliseconds in DELAY
// at the same index. The instance is free for the next request after WAIT milliseconds,
// whether or not all responses are sent.
type Repeat struct{}

var (
	_ backend.Backend  = Repeat{}
	_ backend.Model    = (*repeatModel)(nil)
	_ backend.Instance = (*repeatInstance)(nil)
)

// Load checks the configuration.
func (Repeat) Load(_ context.Context, spec backend.Spec) (backend.Model, error) {
	if err := check("repeat", spec.Config); err != nil {
		return nil, err
	}
	return &repeatModel{spec}, nil
}

type repeatModel struct{ spec backend.Spec }

func (m *repeatModel) NewInstance(context.Context, backend.Placement) (backend.Instance, error) {
	return &repeatInstance{newDecoupled(m.spec.Config)}, nil
}

func (*repeatModel) Close() error { return nil }

type repeatInstance struct{ *decoupled }

// Execute starts the responses and waits for the longest WAIT.
func (i *repeatInstance) Execute(ctx context.Context, b *infer.Batch) error {
	b.InputEnd = infer.Now()
	var longest time.Duration
	for _, r := range b.Requests {
		wait, _ := numbers(r, "WAIT")
		in, shape := numbers(r, "IN")
		delay, other := numbers(r, "DELAY")
		switch {
		case len(wait) != 1:
			r.Fail(status.New(status.InvalidArg, "unexpected size for WAIT input"))
		case !shape.Equal(other):
			r.Fail(status.New(status.InvalidArg, "expected IN and DELAY shape to match, got %s and %s", shape, other))
		default:
			longest = max(longest, time.Duration(wait[0])*time.Millisecond)
			i.answer(r, func() { i.repeat(r, in, delay) })
		}
	}
	// An interrupted pause only frees the instance earlier; the responses check
	// the request themselves.
	_ = pause(ctx, longest, b.Abandoned)
	i.wait()
	b.OutputStart = infer.Now()
	return nil
}

// repeat sends all responses and the final one.
func (i *repeatInstance) repeat(r *infer.Request, in, delay []uint32) {
	for n := range in {
		err := pause(i.life, time.Duration(delay[n])*time.Millisecond, r.Cancelled)
		if err == nil && r.Cancelled() {
			err = errCancelled()
		}
		if err != nil {
			r.Fail(err)
			return
		}
		resp := infer.NewResponse()
		if err = addNumber(r, resp, "OUT", tensor.Int32, tensor.Shape{1}, in[n]); err == nil {
			err = addNumber(r, resp, "IDX", tensor.Uint32, tensor.Shape{1}, uint32(n))
		}
		resp.Err = err
		r.Respond(resp, false)
	}
	r.Respond(nil, true)
}
