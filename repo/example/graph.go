package example

import (
	"fmt"
	"hash/fnv"
	"math"

	"triton/pkg/onnxmodel"
)

// graph builds an ONNX graph. Each method that adds an operation returns the name of its
// result, which is an input of further operations.
type graph struct {
	file onnxmodel.File
	seed uint64
	// scope keeps the random numbers of models and versions apart.
	scope string
	added map[string]bool // names of the weights in file
}

func newGraph(model string, v version, seed uint64) *graph {
	g := &graph{
		file:  newFile(model),
		seed:  seed,
		scope: model + "/" + v.number + "/",
		added: make(map[string]bool),
	}
	v.build(g)
	return g
}

// op adds an operation and returns the name of its only result.
func (g *graph) op(op string, inputs []string, attrs ...onnxmodel.Attr) string {
	out := fmt.Sprintf("%s_%d", op, len(g.file.Nodes))
	g.result(out, op, inputs, attrs...)
	return out
}

// result adds an operation whose only result is named out.
func (g *graph) result(out, op string, inputs []string, attrs ...onnxmodel.Attr) {
	g.file.Nodes = append(g.file.Nodes, onnxmodel.Node{
		Op: op, Name: "node_" + out, Inputs: inputs, Outputs: []string{out}, Attrs: attrs,
	})
}

// in returns the input list of an operation.
func in(names ...string) []string { return names }

func (g *graph) input(name string, elem onnxmodel.ElemType, dims ...any) {
	g.file.Inputs = append(g.file.Inputs, onnxmodel.Tensor(name, elem, dims...))
}

func (g *graph) output(name string, elem onnxmodel.ElemType, dims ...any) {
	g.file.Outputs = append(g.file.Outputs, onnxmodel.Tensor(name, elem, dims...))
}

// weight adds w once and returns its name.
func (g *graph) weight(w onnxmodel.Weight) string {
	if !g.added[w.Name] {
		g.added[w.Name] = true
		g.file.Weights = append(g.file.Weights, w)
	}
	return w.Name
}

// intList returns a constant list of integers.
func (g *graph) intList(name string, values ...int64) string {
	return g.weight(onnxmodel.Ints(name, []int64{int64(len(values))}, values...))
}

// integer returns a constant scalar.
func (g *graph) integer(name string, v int64) string {
	return g.weight(onnxmodel.Ints(name, nil, v))
}

// number returns a constant scalar.
func (g *graph) number(name string, v float32) string {
	return g.weight(onnxmodel.Floats(name, nil, v))
}

// constantWeight returns a weight of n equal elements.
func (g *graph) constantWeight(name string, n int64, v float32) string {
	return g.weight(onnxmodel.Weight{
		Name: name, Elem: onnxmodel.Float, Dims: []int64{n},
		Data: repeated(n, v),
	})
}

// uniformWeight returns a weight of random elements between -bound and bound.
func (g *graph) uniformWeight(name string, bound float64, dims ...int64) string {
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	h := fnv.New64a()
	h.Write([]byte(g.scope + name))
	return g.weight(onnxmodel.Weight{
		Name: name, Elem: onnxmodel.Float, Dims: dims,
		Data: uniform(g.seed, h.Sum64(), n, bound),
	})
}

// scaledWeight returns a random weight, scaled so that the variance of a sum of fanIn terms is
// gain times that of one term. The gain is 2 before a ReLU, which halves the variance, and 1
// elsewhere.
func (g *graph) scaledWeight(name string, gain float64, fanIn int64, dims ...int64) string {
	return g.uniformWeight(name, math.Sqrt(3*gain/float64(fanIn)), dims...)
}
