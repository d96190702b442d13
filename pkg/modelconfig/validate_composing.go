package modelconfig

import (
	"fmt"
	"maps"
	"slices"

	pb "triton/pkg/inferencepb"
	"triton/pkg/spelling"
	"triton/pkg/tensor"
)

// ValidateComposing checks an ensemble, in which Validate found no mistake, against its
// composing models. model returns the completed configuration of a step's model; a step whose
// model is nil, because it is not known, is not checked.
func (c *Config) ValidateComposing(model func(step int) *pb.ModelConfig) []Finding {
	v := validator{Config: c}
	p := composingValidator{validator: &v, declared: map[string]declaration{}, decoupledStep: map[string]int{}}
	for i, in := range c.Input {
		p.declare(in.Name, fmt.Sprintf("input[%d]", i), in.DataType, in.Dims, in.Reshape)
	}
	for i, out := range c.Output {
		p.declare(out.Name, fmt.Sprintf("output[%d]", i), out.DataType, out.Dims, out.Reshape)
	}
	var models []*pb.ModelConfig
	for i, s := range c.GetEnsembleScheduling().GetStep() {
		m := model(i)
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

// Decoupled reports whether an ensemble of these models may send no response or several.
func Decoupled(models []*pb.ModelConfig) bool {
	return slices.ContainsFunc(models, func(m *pb.ModelConfig) bool { return m.Decoupled() })
}

// composingValidator checks an ensemble against its composing models.
type composingValidator struct {
	*validator
	declared      map[string]declaration // of each tensor, by the first model that names it
	decoupledStep map[string]int         // by tensor: the decoupled step that its values come from, counted from 1; 0: none
}

// declaration is a model's declaration of a tensor.
type declaration struct {
	model    string
	batching bool
	dataType pb.DataType
	dims     tensor.Shape
	path     string
	// reshaped is the other shape of a tensor that has a reshape: the dims of the ensemble's own tensor, the
	// reshape of a composing model's. The ensemble does not use it.
	reshaped tensor.Shape
}

// declare notes an input or output of the ensemble. The steps read and write it in its reshape; of a
// composing model they use the dims, without their reshape.
func (p *composingValidator) declare(name, path string, d pb.DataType, dims []int64, r *pb.ModelTensorReshape) {
	o := declaration{model: p.Name, batching: p.MaxBatchSize > 0, dataType: d, dims: dims, path: path}
	if r != nil {
		o.dims, o.reshaped = r.Shape, dims
		if o.reshaped == nil {
			o.reshaped = tensor.Shape{}
		}
	}
	p.declared[name] = o
}

// otherShape returns the reshape of a composing model's tensor; nil: it has none.
func otherShape(r *pb.ModelTensorReshape) tensor.Shape {
	if r == nil {
		return nil
	}
	return append(tensor.Shape{}, r.Shape...)
}

// full returns the shape with the batch dimension.
func (o declaration) full() tensor.Shape {
	if o.batching {
		return slices.Insert(slices.Clone(o.dims), 0, -1)
	}
	return o.dims
}

func (p *composingValidator) step(path string, s *pb.ModelEnsembling_Step, m *pb.ModelConfig) {
	if m.MaxBatchSize != 0 && p.MaxBatchSize > m.MaxBatchSize {
		p.add(ruleEnsembleFit, path, "set the ensemble's max_batch_size to at most that",
			"ensemble %s allows maximum batch size %d, but it contains model %s which only allows maximum batch size to be %d",
			p.Name, p.MaxBatchSize, m.Name, m.MaxBatchSize)
	}
	p.inputs(path, s, m)
	p.outputs(path, s, m)
}

func (p *composingValidator) inputs(path string, s *pb.ModelEnsembling_Step, m *pb.ModelConfig) {
	has := map[string]bool{}
	for _, in := range m.Input {
		has[in.Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(s.InputMap)) {
		if !has[name] {
			p.add(ruleEnsembleFit, fmt.Sprintf("%s.input_map[%q]", path, name), spelling.Hint(name, slices.Sorted(maps.Keys(has)), "name an input of that model"),
				"in ensemble %s, ensemble tensor %s is mapping to non-existing input %s in model %s", p.Name, s.InputMap[name], name, m.Name)
		}
	}
	for _, in := range m.Input {
		t, mapped := s.InputMap[in.Name]
		switch {
		case mapped:
			p.compare(t, declaration{m.Name, m.MaxBatchSize > 0, in.DataType, in.Dims, fmt.Sprintf("%s.input_map[%q]", path, in.Name), otherShape(in.Reshape)})
		case !in.Optional:
			p.add(ruleEnsembleFit, path, "add it to the input_map",
				"in ensemble %s, input %s in model %s is not mapped to any ensemble tensors", p.Name, in.Name, m.Name)
		}
	}
}

func (p *composingValidator) outputs(path string, s *pb.ModelEnsembling_Step, m *pb.ModelConfig) {
	has := map[string]*pb.ModelOutput{}
	for _, out := range m.Output {
		if t, mapped := s.OutputMap[out.Name]; mapped && has[out.Name] != nil {
			p.add(ruleEnsembleFit, fmt.Sprintf("%s.output_map[%q]", path, out.Name), "declare the output once in the configuration of that model",
				"in ensemble %s, multiple outputs in model %s are mapped to the same ensemble tensor %s", p.Name, m.Name, t)
		}
		has[out.Name] = out
	}
	for _, name := range slices.Sorted(maps.Keys(s.OutputMap)) {
		t, at := s.OutputMap[name], fmt.Sprintf("%s.output_map[%q]", path, name)
		out := has[name]
		if out == nil {
			p.add(ruleEnsembleFit, at, spelling.Hint(name, slices.Sorted(maps.Keys(has)), "name an output of that model"),
				"in ensemble %s, ensemble tensor %s is mapped from non-existing output %s in model %s", p.Name, t, name, m.Name)
			continue
		}
		p.compare(t, declaration{m.Name, m.MaxBatchSize > 0, out.DataType, out.Dims, at, otherShape(out.Reshape)})
	}
}

// compare compares a model's declaration of a tensor with the first one.
func (p *composingValidator) compare(t string, o declaration) {
	first, ok := p.declared[t]
	if !ok {
		p.declared[t] = o
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
	if !first.dims.Agrees(o.dims) && !first.full().Agrees(o.full()) {
		p.add(ruleEnsembleTypes, o.path, p.shapeHint(hint, first, o),
			"in ensemble %s, ensemble tensor %s: inconsistent shape: %s is inferred from model %s while %s is inferred from model %s",
			p.Name, t, first.full(), first.model, o.full(), o.model)
	}
}

// shapeHint names a reshape that causes two declarations to differ.
func (p *composingValidator) shapeHint(otherwise string, first, o declaration) string {
	for _, pair := range [][2]declaration{{first, o}, {o, first}} {
		d, other := pair[0], pair[1]
		if d.reshaped == nil || !d.reshaped.Agrees(other.dims) {
			continue
		}
		if d.model != p.Name {
			return fmt.Sprintf("an ensemble uses the dims of %s, not its reshape: give both the same dims", d.model)
		}
		at := d.path
		if pos := p.Position(at); pos.Line > 0 {
			at += fmt.Sprintf(" in line %d", pos.Line)
		}
		return fmt.Sprintf("remove the reshape of %s: the steps read and write the reshape, not the dims", at)
	}
	if first.reshaped != nil && first.model == p.Name {
		return otherwise + ": its shape for the steps is the reshape"
	}
	return otherwise
}
