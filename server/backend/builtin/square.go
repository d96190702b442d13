package builtin

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/infer"
)

// Square is the backend "square": it sends as many responses as the number in IN, each
// with that number as OUT. The instance is free at once.
//
// Parameters: CUSTOM_INFER_DELAY_NS, CUSTOM_OUTPUT_DELAY_NS and CUSTOM_CANCEL_DELAY_NS
// delay each response before it is computed, while it is written and after its request
// was cancelled. The last CUSTOM_EMPTY_COUNT responses of a request are empty and the
// CUSTOM_FAIL_COUNT before them errors.
type Square struct{}

var (
	_ backend.Backend  = Square{}
	_ backend.Model    = (*squareModel)(nil)
	_ backend.Instance = (*squareInstance)(nil)
)

// Load checks the configuration.
func (Square) Load(_ context.Context, spec backend.Spec) (backend.Model, error) {
	if err := check("square", spec.Config); err != nil {
		return nil, err
	}
	m := &squareModel{spec: spec}
	for name, to := range map[string]*int64{
		"CUSTOM_INFER_DELAY_NS":  (*int64)(&m.infer),
		"CUSTOM_OUTPUT_DELAY_NS": (*int64)(&m.output),
		"CUSTOM_CANCEL_DELAY_NS": (*int64)(&m.cancel),
		"CUSTOM_FAIL_COUNT":      &m.fail,
		"CUSTOM_EMPTY_COUNT":     &m.empty,
	} {
		*to = intOrZero(spec.Log, spec.Config, name)
	}
	return m, nil
}

// intOrZero returns a parameter, or 0 if it is not a number.
func intOrZero(log *slog.Logger, cfg *inferencepb.ModelConfig, name string) int64 {
	p := cfg.GetParameters()[name]
	if p == nil {
		return 0
	}
	n, err := strconv.ParseUint(p.GetStringValue(), 10, 31)
	if err != nil {
		log.Info(p.GetStringValue() + " string_value from " + name + " parameter is not a number")
	}
	return int64(n)
}

type squareModel struct {
	spec                  backend.Spec
	infer, output, cancel time.Duration
	fail, empty           int64
}

func (m *squareModel) NewInstance(context.Context, backend.Placement) (backend.Instance, error) {
	return &squareInstance{m, newDecoupled(m.spec.Config)}, nil
}

func (*squareModel) Close() error { return nil }

type squareInstance struct {
	*squareModel
	*decoupled
}

func (i *squareInstance) Close() error { return i.decoupled.Close() }

// Execute starts the responses.
func (i *squareInstance) Execute(_ context.Context, b *infer.Batch) error {
	b.InputEnd = infer.Now()
	for _, r := range b.Requests {
		if r.Membership.Null {
			continue
		}
		in, shape := numbers(r, "IN")
		if len(in) != 1 {
			r.Fail(status.New(status.InvalidArg, "unexpected shape for IN input"))
			continue
		}
		ones := tensor.Shape{1, 1}[:min(len(shape), 2)]
		i.answer(r, func() { i.square(r, int64(int32(in[0])), ones) })
	}
	i.wait()
	b.OutputStart = infer.Now()
	return nil
}

// square sends all responses and the final one.
func (i *squareInstance) square(r *infer.Request, n int64, shape tensor.Shape) {
	for k := range n {
		resp, err := i.response(r, k, n, shape)
		if err != nil {
			_ = pause(i.life, i.cancel, func() bool { return false }) // the delay simulates a clean-up
			r.Fail(err)
			return
		}
		r.Respond(resp, false)
	}
	r.Respond(nil, true)
}

// response returns response k of n; nil if it is empty. An error means that no caller
// waits for it.
func (i *squareInstance) response(r *infer.Request, k, n int64, shape tensor.Shape) (*infer.Response, error) {
	if r.Cancelled() {
		return nil, errCancelled()
	}
	if err := pause(i.life, i.infer, r.Cancelled); err != nil {
		return nil, err
	}
	if k+i.empty >= n {
		return nil, nil
	}
	resp := infer.NewResponse()
	resp.OutputStart = infer.Now()
	resp.Err = addNumber(r, resp, "OUT", tensor.Int32, shape, uint32(n))
	if k+i.fail+i.empty >= n {
		resp.Err = status.New(status.Unknown, "simulated failure")
	}
	if err := pause(i.life, i.output, r.Cancelled); err != nil {
		resp.Release()
		return nil, err
	}
	return resp, nil
}
