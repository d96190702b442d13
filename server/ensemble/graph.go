package ensemble

import (
	"slices"
	"strconv"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
)

// graph connects the steps of an ensemble by tensors. Tensors are numbered. The last step
// is the ensemble's response, which reads the outputs.
type graph struct {
	batching bool   // of the ensemble
	inputs   []port // of the ensemble
	outputs  []port
	steps    []node
	readers  [][]int // by tensor: the steps that read it, once for each input
	writer   []int   // by tensor: the step that makes it; -1 for inputs of the ensemble
}

// port is one input or output of a model and the tensor that it is mapped to.
type port struct {
	name   string
	tensor int
	// dims is the configured shape inside the ensemble, without the batch dimension. For
	// the ensemble's own inputs and outputs with a reshape it is the reshape.
	dims tensor.Shape
	// outer is the shape that the ensemble's clients see; nil without a reshape.
	outer tensor.Shape
}

// ownPort returns an input or output of the ensemble itself.
func ownPort(name string, number int, dims tensor.Shape, r *inferencepb.ModelTensorReshape) port {
	if r == nil {
		return port{name: name, tensor: number, dims: dims}
	}
	return port{name: name, tensor: number, dims: r.GetShape(), outer: dims}
}

// node describes a step: the inputs and outputs of its model.
type node struct {
	model     string
	version   string // empty: the newest
	batching  bool
	decoupled bool
	inputs    []port
	outputs   []port
}

// newGraph reads a configuration that has passed the checks against the configurations of
// its steps' models.
func newGraph(c *inferencepb.ModelConfig, models []*inferencepb.ModelConfig) *graph {
	g := &graph{batching: c.GetMaxBatchSize() > 0}
	numbers := map[string]int{}
	number := func(name string) int {
		n, ok := numbers[name]
		if !ok {
			n = len(numbers)
			numbers[name] = n
			g.readers, g.writer = append(g.readers, nil), append(g.writer, -1)
		}
		return n
	}
	for _, in := range c.GetInput() {
		g.inputs = append(g.inputs, ownPort(in.GetName(), number(in.GetName()), in.GetDims(), in.GetReshape()))
	}
	for i, s := range c.GetEnsembleScheduling().GetStep() {
		m := models[i]
		n := node{model: s.GetModelName(), batching: m.GetMaxBatchSize() > 0, decoupled: m.Decoupled()}
		if v := s.GetModelVersion(); v != -1 {
			n.version = strconv.FormatInt(v, 10)
		}
		for _, in := range m.GetInput() {
			if to, ok := s.GetInputMap()[in.GetName()]; ok {
				t := number(to)
				n.inputs = append(n.inputs, port{name: in.GetName(), tensor: t, dims: in.GetDims()})
				g.readers[t] = append(g.readers[t], i)
			}
		}
		for _, out := range m.GetOutput() {
			if to, ok := s.GetOutputMap()[out.GetName()]; ok {
				t := number(to)
				n.outputs = append(n.outputs, port{name: out.GetName(), tensor: t, dims: out.GetDims()})
				g.writer[t] = i
			}
		}
		g.steps = append(g.steps, n)
	}
	for _, i := range outputOrder(c) {
		out := c.GetOutput()[i]
		t := number(out.GetName())
		g.outputs = append(g.outputs, ownPort(out.GetName(), t, out.GetDims(), out.GetReshape()))
		g.readers[t] = append(g.readers[t], g.responseStep())
	}
	return g
}

// outputOrder returns the order of the outputs in responses.
func outputOrder(c *inferencepb.ModelConfig) []int {
	var names []string
	for _, out := range c.GetOutput() {
		names = append(names, out.GetName())
	}
	return tensor.HashOrder(names)
}

// responseStep returns the number of the step that is the ensemble's response.
func (g *graph) responseStep() int { return len(g.steps) }

// markNeeded marks in active the steps that the requested outputs depend on, and the response.
func (g *graph) markNeeded(wants func(output string) bool, active []bool) {
	clear(active)
	var mark func(t int)
	mark = func(t int) {
		s := g.writer[t]
		if s < 0 || active[s] {
			return
		}
		active[s] = true
		for _, in := range g.steps[s].inputs {
			mark(in.tensor)
		}
	}
	for _, out := range g.outputs {
		if wants(out.name) {
			mark(out.tensor)
		}
	}
	active[g.responseStep()] = true
}

// convert adds or removes the batch dimension of a tensor between a model that batches and
// one that does not. rows are those of the request that made the tensor, 0 if its model
// does not batch; dims and batching describe the input or output that it becomes. convert
// changes only unambiguous shapes; the model's own checks reject the others.
func convert(shape tensor.Shape, rows int, dims tensor.Shape, batching bool) tensor.Shape {
	switch {
	case batching && rows == 0 && shape.Matches(dims):
		return slices.Insert(shape, 0, 1)
	case !batching && rows != 0 && !shape.Matches(dims) && len(shape) > 0 && shape[0] == 1:
		return slices.Delete(shape, 0, 1)
	}
	return shape
}
