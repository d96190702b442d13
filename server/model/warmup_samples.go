// The samples of a configuration's model_warmup run on new instances, so that work that a backend defers
// to its first request is done before clients send one. Samples are requests like any others, but of
// their responses only the errors count: they fail the load.

package model

import (
	"log/slog"
	"maps"
	"slices"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// warmUpOptions describe the model version to warm up.
type warmUpOptions struct {
	Config *inferencepb.ModelConfig
	Dir    string // of the model
	Pool   *tensor.Pool
	// Check completes a request and validates it, as for clients.
	Check func(*infer.Request) error
	Log   *slog.Logger
}

// warmUpPlan holds the samples of one model version. All instances may run it at once.
type warmUpPlan struct {
	opts    warmUpOptions
	samples []warmUpSample
}

// warmUpSample is one batch.
type warmUpSample struct {
	name        string
	rows, count int
	inputs      []warmUpInput
}

type warmUpInput struct {
	name     string
	dataType tensor.DataType
	shape    tensor.Shape
	data     tensor.Data
	extra    bool // added by the scheduler: a control or a state
}

// readWarmUp makes all samples except those with batch size 0. The plan is nil when there are
// none. The errors are Triton's and fail the load.
func readWarmUp(o warmUpOptions) (*warmUpPlan, error) {
	if err := modelconfig.FirstError(modelconfig.ValidateWarmup(modelconfig.New("", o.Config), o.Dir)); err != nil {
		return nil, err
	}
	p := &warmUpPlan{opts: o}
	for _, w := range o.Config.GetModelWarmup() {
		if w.GetBatchSize() == 0 {
			continue
		}
		p.samples = append(p.samples, warmUpSample{name: w.GetName(), rows: int(w.GetBatchSize()), count: max(int(w.GetCount()), 1)})
		if err := p.read(&p.samples[len(p.samples)-1], w); err != nil {
			p.Close()
			return nil, err
		}
	}
	if len(p.samples) == 0 {
		return nil, nil
	}
	return p, nil
}

func (p *warmUpPlan) read(s *warmUpSample, w *inferencepb.ModelWarmup) error {
	for _, name := range slices.Sorted(maps.Keys(w.GetInputs())) {
		in, err := p.input(name, w.GetInputs()[name])
		if err != nil {
			return err
		}
		s.inputs = append(s.inputs, in)
	}
	r, err := p.request(s)
	if err != nil {
		return err
	}
	r.Release()
	r.Release()
	return nil
}

func (p *warmUpPlan) input(name string, from *inferencepb.ModelWarmup_Input) (warmUpInput, error) {
	in := warmUpInput{name: name, dataType: tensor.DataType(from.GetDataType())}
	in.extra = !slices.ContainsFunc(p.opts.Config.GetInput(), func(i *inferencepb.ModelInput) bool { return i.GetName() == name })
	if p.opts.Config.GetMaxBatchSize() > 0 {
		in.shape = append(in.shape, 1)
	}
	in.shape = append(in.shape, from.GetDims()...)
	buf, err := p.data(&in, from)
	if err != nil {
		return in, err
	}
	in.data = tensor.NewData(buf)
	return in, nil
}

// request returns one row of a sample.
func (p *warmUpPlan) request(s *warmUpSample) (*infer.Request, error) {
	r := infer.NewRequest()
	for i := range s.inputs {
		if in := &s.inputs[i]; !in.extra {
			t := r.AddInput()
			t.Name, t.DataType, t.Data = in.name, in.dataType, in.data.Clone()
			t.Shape = append(t.Shape[:0], in.shape...)
		}
	}
	if err := p.opts.Check(r); err != nil {
		r.Release()
		r.Release()
		return nil, err
	}
	for i := range s.inputs {
		if in := &s.inputs[i]; in.extra {
			t := r.Extra()
			t.Name, t.DataType, t.Data = in.name, in.dataType, in.data.Clone()
			t.Shape = append(t.Shape[:0], in.shape...)
		}
	}
	return r, nil
}

// Close releases the data, once no instance runs the plan. A nil plan has none.
func (p *warmUpPlan) Close() {
	if p == nil {
		return
	}
	for i := range p.samples {
		for k := range p.samples[i].inputs {
			p.samples[i].inputs[k].data.Release()
		}
	}
	p.samples = nil
}
