package builtin

import (
	"context"
	"time"

	"triton/pkg/inferencepb"
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
	if spec.Config.GetMaxBatchSize() != 0 {
		return nil, status.New(status.InvalidArg, "repeat backend only supports models with max_batch_size == 0")
	}
	if err := checkRepeat(spec.Config); err != nil {
		return nil, err
	}
	return &repeatModel{spec}, nil
}

func checkRepeat(cfg *inferencepb.ModelConfig) error {
	ins, outs := cfg.GetInput(), cfg.GetOutput()
	if len(ins) != 3 {
		return status.New(status.InvalidArg, "expected 3 inputs, got %d", len(ins))
	}
	if len(outs) != 2 {
		return status.New(status.InvalidArg, "expected 2 outputs, got %d", len(outs))
	}
	in, delay, wait, out, idx := ins[0], ins[1], ins[2], outs[0], outs[1]
	v := expectation{}
	v.name("first input", "IN", in)
	v.name("second input", "DELAY", delay)
	v.name("third input", "WAIT", wait)
	v.name("first output", "OUT", out)
	v.name("second output", "IDX", idx)
	shape := tensor.Shape(in.GetDims())
	if len(shape) != 1 {
		v.fail("expected IN shape to have one dimension, got %s", shape)
	}
	if other := tensor.Shape(delay.GetDims()); !shape.Equal(other) {
		v.fail("expected IN and DELAY shape to match, got %s and %s", shape, other)
	}
	v.single("WAIT", wait)
	v.single("OUT", out)
	v.single("IDX", idx)
	v.dataType("IN", "INT32", in)
	v.dataType("DELAY", "UINT32", delay)
	v.dataType("WAIT", "UINT32", wait)
	v.dataType("OUT", "INT32", out)
	v.dataType("IDX", "UINT32", idx)
	return v.err
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
