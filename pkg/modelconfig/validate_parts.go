package modelconfig

import (
	"fmt"
	"maps"
	"slices"

	pb "triton/pkg/inferencepb"
	"triton/pkg/tensor"
)

// ValidateParts checks an ensemble without findings of Validate against the models of
// its steps. part returns the completed configuration of a step's model; nil if it is
// not known, then the step is not checked.
func (c *Config) ValidateParts(part func(step int) *pb.ModelConfig) []Finding {
	v := validator{Config: c}
	p := parts{validator: &v, known: map[string]origin{}, flow: map[string]int{}}
	for i, in := range c.Input {
		p.known[in.Name] = origin{c.Name, c.MaxBatchSize > 0, in.DataType, innerShape(in.Dims, in.Reshape), fmt.Sprintf("input[%d]", i)}
	}
	for i, out := range c.Output {
		p.known[out.Name] = origin{c.Name, c.MaxBatchSize > 0, out.DataType, innerShape(out.Dims, out.Reshape), fmt.Sprintf("output[%d]", i)}
	}
	var models []*pb.ModelConfig
	for i, s := range c.GetEnsembleScheduling().GetStep() {
		m := part(i)
		models = append(models, m)
		if m != nil {
			p.step(fmt.Sprintf("ensemble_scheduling.step[%d]", i), s, m)
		}
	}
	if len(v.found) == 0 {
		p.decoupled(models)
	}
	return v.found
}

// innerShape returns the shape that the steps see of a tensor of the ensemble. Reshapes
// of the steps' models do not matter.
func innerShape(dims []int64, r *pb.ModelTensorReshape) tensor.Shape {
	if r != nil {
		return r.Shape
	}
	return dims
}

// Decoupled reports whether an ensemble of these models may send no response or several.
func Decoupled(parts []*pb.ModelConfig) bool {
	return slices.ContainsFunc(parts, func(m *pb.ModelConfig) bool { return m.GetModelTransactionPolicy().GetDecoupled() })
}

// parts checks an ensemble with the models of its steps.
type parts struct {
	*validator
	known map[string]origin // of each tensor, from the first model that names it
	flow  map[string]int    // decoupled step that the values of a tensor come from, counted from 1
}

// origin is a model's declaration of a tensor.
type origin struct {
	model    string
	batching bool
	dataType pb.DataType
	dims     tensor.Shape
	path     string
}

// full returns the shape with the dimension of the batch.
func (o origin) full() tensor.Shape {
	if o.batching {
		return slices.Insert(slices.Clone(o.dims), 0, -1)
	}
	return o.dims
}

func (p *parts) step(path string, s *pb.ModelEnsembling_Step, m *pb.ModelConfig) {
	if m.MaxBatchSize != 0 && p.MaxBatchSize > m.MaxBatchSize {
		p.add(ruleEnsembleFit, path, "set the ensemble's max_batch_size to at most that",
			"ensemble %s allows maximum batch size %d, but it contains model %s which only allows maximum batch size to be %d",
			p.Name, p.MaxBatchSize, m.Name, m.MaxBatchSize)
	}
	p.inputs(path, s, m)
	p.outputs(path, s, m)
}

func (p *parts) inputs(path string, s *pb.ModelEnsembling_Step, m *pb.ModelConfig) {
	has := map[string]bool{}
	for _, in := range m.Input {
		has[in.Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(s.InputMap)) {
		if !has[name] {
			p.add(ruleEnsembleFit, fmt.Sprintf("%s.input_map[%q]", path, name), "name an input of that model",
				"in ensemble %s, ensemble tensor %s is mapping to non-existing input %s in model %s", p.Name, s.InputMap[name], name, m.Name)
		}
	}
	for _, in := range m.Input {
		t, mapped := s.InputMap[in.Name]
		switch {
		case mapped:
			p.compare(t, origin{m.Name, m.MaxBatchSize > 0, in.DataType, in.Dims, fmt.Sprintf("%s.input_map[%q]", path, in.Name)})
		case !in.Optional:
			p.add(ruleEnsembleFit, path, "add it to the input_map",
				"in ensemble %s, input %s in model %s is not mapped to any ensemble tensors", p.Name, in.Name, m.Name)
		}
	}
}

func (p *parts) outputs(path string, s *pb.ModelEnsembling_Step, m *pb.ModelConfig) {
	has := map[string]*pb.ModelOutput{}
	for _, out := range m.Output {
		has[out.Name] = out
	}
	for _, name := range slices.Sorted(maps.Keys(s.OutputMap)) {
		t, at := s.OutputMap[name], fmt.Sprintf("%s.output_map[%q]", path, name)
		out := has[name]
		if out == nil {
			p.add(ruleEnsembleFit, at, "name an output of that model",
				"in ensemble %s, ensemble tensor %s is mapped from non-existing output %s in model %s", p.Name, t, name, m.Name)
			continue
		}
		p.compare(t, origin{m.Name, m.MaxBatchSize > 0, out.DataType, out.Dims, at})
	}
}

// compare compares a model's declaration of a tensor with the first one.
func (p *parts) compare(t string, o origin) {
	first, ok := p.known[t]
	if !ok {
		p.known[t] = o
		return
	}
	hint := "compare with " + first.path
	if at := p.Position(first.path); at.Line > 0 {
		hint += fmt.Sprintf(" in line %d", at.Line)
	}
	if first.dataType != o.dataType {
		p.add(ruleEnsembleTypes, o.path, hint,
			"in ensemble %s, ensemble tensor %s: inconsistent data type: %s is inferred from model %s while %s is inferred from model %s",
			p.Name, t, first.dataType, first.model, o.dataType, o.model)
	}
	if !agree(first.dims, o.dims) && !agree(first.full(), o.full()) {
		p.add(ruleEnsembleTypes, o.path, hint,
			"in ensemble %s, ensemble tensor %s: inconsistent shape: %s is inferred from model %s while %s is inferred from model %s",
			p.Name, t, first.full(), first.model, o.full(), o.model)
	}
}

// agree reports whether two shapes can be equal; -1 matches any dimension.
func agree(a, b tensor.Shape) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] && a[i] != -1 && b[i] != -1 {
			return false
		}
	}
	return true
}
