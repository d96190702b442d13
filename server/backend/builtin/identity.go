// Package builtin holds the backends written in Go that every build has: those of
// NVIDIA's examples and tests, such as "identity", which returns its inputs, and
// "fault", the same with faults on demand, for testing the code around backends. They
// need no model file.
package builtin

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/infer"
)

// Identity is the backend "identity": any number of pairs INPUT<i> and OUTPUT<i> of the
// same type and shape. An output is its input, by reference. An absent optional input
// gives an output of zeros, with 1 for dimensions that vary.
//
// Parameters: creation_delay_sec, execute_delay_ms and instance_wise_delay_multiplier.
// With the multiplier, instance n waits the delay n times the multiplier, and at least
// once.
type Identity struct{}

var (
	_ backend.Backend  = Identity{}
	_ backend.Model    = (*model)(nil)
	_ backend.Instance = (*instance)(nil)
)

// Load checks the configuration.
func (Identity) Load(ctx context.Context, spec backend.Spec) (backend.Model, error) {
	return load(ctx, "identity", spec)
}

type model struct {
	pool       *tensor.Pool
	pairs      []pair
	batching   bool
	delay      time.Duration
	multiplier int64
	made       atomic.Int64
}

// pair is an output and the input that it returns.
type pair struct {
	in, out  string
	dataType tensor.DataType
	optional bool
	dims     tensor.Shape // of the output
	// from and to are the dimensions as clients send and get them, if a reshape
	// makes them differ.
	from, to tensor.Shape
}

func load(ctx context.Context, name string, spec backend.Spec) (*model, error) {
	cfg := spec.Config
	if err := check(name, cfg); err != nil {
		return nil, err
	}
	m := &model{
		pool: spec.Pool, batching: cfg.GetMaxBatchSize() > 0, pairs: pairs(cfg),
		delay: time.Duration(count(cfg, "execute_delay_ms")) * time.Millisecond, multiplier: count(cfg, "instance_wise_delay_multiplier"),
	}
	creation := count(cfg, "creation_delay_sec")
	return m, pause(ctx, time.Duration(creation)*time.Second, func() bool { return false })
}

// pairs returns the pairs of a configuration that was checked.
func pairs(cfg *inferencepb.ModelConfig) []pair {
	byIndex := map[string]*inferencepb.ModelInput{}
	for _, in := range cfg.GetInput() {
		byIndex[strings.TrimPrefix(in.GetName(), "INPUT")] = in
	}
	var all []pair
	for _, out := range cfg.GetOutput() {
		all = append(all, newPair(byIndex[strings.TrimPrefix(out.GetName(), "OUTPUT")], out))
	}
	return all
}

func newPair(in *inferencepb.ModelInput, out *inferencepb.ModelOutput) pair {
	from, to := tensor.Shape(in.GetDims()), tensor.Shape(out.GetDims())
	p := pair{
		in: in.GetName(), out: out.GetName(),
		dataType: tensor.DataType(out.GetDataType()), optional: in.GetOptional(), dims: to,
	}
	if !from.Equal(to) {
		p.from, p.to = from, to
	}
	return p
}

func (m *model) NewInstance(context.Context, backend.Placement) (backend.Instance, error) {
	return m.instance(), nil
}

func (m *model) instance() *instance {
	in := &instance{model: m, delay: m.delay}
	if n := m.made.Add(1) - 1; m.multiplier > 0 {
		in.delay *= time.Duration(max(1, m.multiplier*n))
	}
	return in
}

func (*model) Close() error { return nil }

type instance struct {
	*model
	delay time.Duration
	shape tensor.Shape
}

func (in *instance) Execute(ctx context.Context, b *infer.Batch) error {
	b.InputEnd = infer.Now()
	if err := pause(ctx, in.delay, b.Abandoned); err != nil {
		return err
	}
	for _, r := range b.Requests {
		r.Respond(in.answer(r), true)
	}
	b.OutputStart = infer.Now()
	return nil
}

func (in *instance) answer(r *infer.Request) *infer.Response {
	resp := infer.NewResponse()
	resp.Parameters = append(resp.Parameters, parameters[:]...)
	for i := range in.pairs {
		p := &in.pairs[i]
		switch t := r.Input(p.in); {
		case !r.Wants(p.out):
		case t == nil && p.optional:
			in.zeros(r, resp, p)
		case t != nil:
			resp.Add(p.out, t.DataType, in.shapeOf(p, t.Shape), t.Data.Clone())
		}
	}
	return resp
}

// zeros adds the output of an absent input.
func (in *instance) zeros(r *infer.Request, resp *infer.Response, p *pair) {
	in.shape = in.shape[:0]
	if in.batching {
		in.shape = append(in.shape, int64(r.Batch))
	}
	for _, d := range p.dims {
		if d < 0 {
			d = 1
		}
		in.shape = append(in.shape, d)
	}
	like := p.dataType
	if like == tensor.Bytes {
		like = tensor.Uint32 // the length of an empty string
	}
	n, err := in.shape.ByteSize(like)
	if err != nil {
		resp.Err = status.New(status.Internal, "output '%s' of shape %s: %w", p.out, in.shape, err)
		return
	}
	resp.Err = add(r, resp, p.out, p.dataType, in.shape, int(n), func(mem []byte) { clear(mem) })
}

// parameters are sent with every response of Triton's identity backend.
var parameters = [...]kserve.Parameter{
	{Name: "param0", Kind: kserve.ParamString, String: "an example string parameter"},
	{Name: "param1", Kind: kserve.ParamInt, Int: 42},
	{Name: "param2", Kind: kserve.ParamBool, Bool: false},
	{Name: "param3", Kind: kserve.ParamDouble, Double: 123.123},
}

// shapeOf returns the output's shape for an input of that shape.
func (in *instance) shapeOf(p *pair, shape tensor.Shape) tensor.Shape {
	if p.to == nil {
		return shape
	}
	lead := 0
	if in.batching {
		lead = 1
	}
	in.shape = tensor.AppendReshaped(append(in.shape[:0], shape[:lead]...), shape[lead:], p.from, p.to)
	return in.shape
}

func (*instance) Close() error { return nil }
