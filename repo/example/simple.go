package example

import (
	"fmt"
	"strings"

	"triton/pkg/onnxmodel"
	"triton/pkg/tensor"
)

// buildSimple builds a model that returns the sum and the difference of two vectors.
func buildSimple(g *graph) {
	for _, name := range in("INPUT0", "INPUT1") {
		g.input(name, onnxmodel.Int32, "batch", 16)
	}
	for _, name := range in("OUTPUT0", "OUTPUT1") {
		g.output(name, onnxmodel.Int32, "batch", 16)
	}
	g.result("OUTPUT0", "Add", in("INPUT0", "INPUT1"))
	g.result("OUTPUT1", "Sub", in("INPUT0", "INPUT1"))
}

// buildSimpleString builds the same for integers that are written as text.
func buildSimpleString(g *graph) {
	for _, name := range in("INPUT0", "INPUT1") {
		g.input(name, onnxmodel.String, "batch", 16)
	}
	for _, name := range in("OUTPUT0", "OUTPUT1") {
		g.output(name, onnxmodel.String, "batch", 16)
	}
	a := g.op("Cast", in("INPUT0"), onnxmodel.IntAttr("to", int64(onnxmodel.Int32)))
	b := g.op("Cast", in("INPUT1"), onnxmodel.IntAttr("to", int64(onnxmodel.Int32)))
	toText := onnxmodel.IntAttr("to", int64(onnxmodel.String))
	g.result("OUTPUT0", "Cast", in(g.op("Add", in(a, b))), toText)
	g.result("OUTPUT1", "Cast", in(g.op("Sub", in(a, b))), toText)
}

// buildAccumulator builds a model that sums INPUT over a sequence in an implicit state. Rows
// without a sequence (READY is 0) add nothing.
func buildAccumulator(g *graph) {
	for _, name := range in("INPUT", "READY", "SUM_IN") {
		g.input(name, onnxmodel.Int32, "batch", 1)
	}
	for _, name := range in("OUTPUT", "SUM_OUT") {
		g.output(name, onnxmodel.Int32, "batch", 1)
	}
	g.result("SUM_OUT", "Add", in("SUM_IN", g.op("Mul", in("INPUT", "READY"))))
	g.result("OUTPUT", "Identity", in("SUM_OUT"))
}

// identities returns models that return their input, one for each data type.
func identities() []model {
	var all []model
	for _, d := range tensor.DataTypes() {
		kind := strings.TrimPrefix(d.ConfigName(), "TYPE_")
		name := "identity_" + strings.ToLower(kind)
		all = append(all, model{
			name:   name,
			config: func() (string, error) { return fmt.Sprintf(identityConfig, name, d.ConfigName()), nil },
			versions: []version{{number: "1", build: func(g *graph) {
				elem := onnxmodel.ElemTypeOf(d)
				g.input("INPUT0", elem, "batch", "length")
				g.output("OUTPUT0", elem, "batch", "length")
				g.result("OUTPUT0", "Identity", in("INPUT0"))
			}}},
		})
	}
	return all
}

const identityConfig = `name: "%[1]s"
backend: "onnxruntime"
max_batch_size: 8
input [
  {
    name: "INPUT0"
    data_type: %[2]s
    dims: [ -1 ]
  }
]
output [
  {
    name: "OUTPUT0"
    data_type: %[2]s
    dims: [ -1 ]
  }
]
`
