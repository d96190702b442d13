package example

import "triton/pkg/onnxmodel"

// buildRagged builds a model that returns the sum of each item, and each value as a fraction of
// the sum of its item. The items have any length and are concatenated in VALUES.
func buildRagged(g *graph) {
	g.input("VALUES", onnxmodel.Float, "total")
	g.input("LENGTHS", onnxmodel.Int32, "items")
	g.output("SUM", onnxmodel.Float, "items", 1)
	g.output("SHARE", onnxmodel.Float, "total")

	first, one := g.integer("int_0", 0), g.integer("int_1", 1)
	wide := onnxmodel.IntAttr("to", int64(onnxmodel.Int64))
	lengths := g.op("Cast", in("LENGTHS"), wide)
	ends := g.op("CumSum", in(lengths, first))
	starts := g.op("Sub", in(ends, lengths))
	running := g.op("Concat", in(g.weight(onnxmodel.Floats("nothing", []int64{1}, 0)), g.op("CumSum", in("VALUES", first))), onnxmodel.IntAttr("axis", 0))
	sums := g.op("Sub", in(g.op("Gather", in(running, ends)), g.op("Gather", in(running, starts))))
	g.result("SUM", "Unsqueeze", in(sums, g.intList("axes_1", 1)))

	// The item of a value is the number of items that end before it.
	total := g.op("Gather", in(g.op("Shape", in("VALUES")), first))
	positions := g.op("Unsqueeze", in(g.op("Range", in(first, total, one)), g.intList("axes_1", 1)))
	ended := g.op("GreaterOrEqual", in(positions, g.op("Unsqueeze", in(ends, g.intList("axes_0", 0)))))
	item := g.op("ReduceSum", in(g.op("Cast", in(ended), wide), g.intList("axes_1", 1)), onnxmodel.IntAttr("keepdims", 0))
	g.result("SHARE", "Div", in("VALUES", g.op("Gather", in(sums, item))))
}
