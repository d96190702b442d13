package example

import (
	"fmt"

	"triton/pkg/onnxmodel"
)

// The size of BERT-tiny.
const (
	textVocabulary = 30522
	textPositions  = 512
	textHidden     = 128
	textHeads      = 2
	textInner      = 512
	textLayers     = 2
	textClasses    = 2
)

// buildTextClassifier is a classifier whose clients say which tokens are padding.
func buildTextClassifier(g *graph) {
	g.input("input_ids", onnxmodel.Int64, "batch", "sequence")
	g.input("attention_mask", onnxmodel.Int64, "batch", "sequence")
	g.output("logits", onnxmodel.Float, "batch", textClasses)
	g.classifier(g.op("Cast", in("attention_mask"), onnxmodel.IntAttr("to", int64(onnxmodel.Bool))), textClasses)
}

// buildPaddedClassifier is a classifier of texts of a fixed length, in which token 0 is
// padding.
func buildPaddedClassifier(g *graph) {
	const length, classes = 64, 10
	g.input("input_ids", onnxmodel.Int64, "batch", length)
	g.output("logits", onnxmodel.Float, "batch", classes)
	padding := g.op("Equal", in("input_ids", g.integer("int_0", 0)))
	g.classifier(g.op("Not", in(padding)), classes)
}

// classifier is a transformer encoder over input_ids, with a classifier over the mean of the
// positions that the flag selects. Ids and positions outside the tables wrap around, so that
// random input from a load generator is valid input.
func (g *graph) classifier(flag string, classes int64) {
	mask := g.op("Cast", in(flag), onnxmodel.IntAttr("to", int64(onnxmodel.Float)))
	bias := g.maskBias(mask)
	x := g.embedding()
	for layer := range textLayers {
		name := fmt.Sprintf("encoder.layer.%d.", layer)
		x = g.layerNorm(name+"attention.output.LayerNorm", g.op("Add", in(g.attention(name+"attention.", x, bias), x)))
		y := g.gelu(g.linear(name+"intermediate.dense", x, textHidden, textInner))
		y = g.linear(name+"output.dense", y, textInner, textHidden)
		x = g.layerNorm(name+"output.LayerNorm", g.op("Add", in(y, x)))
	}
	x = g.meanOf(x, mask)
	w := g.scaledWeight("classifier.weight", 1, textHidden, classes, textHidden)
	b := g.uniformWeight("classifier.bias", 0.1, classes)
	g.result("logits", "Gemm", in(x, w, b), onnxmodel.IntAttr("transB", 1))
}

// maskBias returns the bias of the attention scores, [batch,1,1,sequence]: 0 for tokens, far
// below 0 for padding. The bias is finite, so that a row without tokens has finite results too.
func (g *graph) maskBias(mask string) string {
	m := g.op("Unsqueeze", in(mask, g.intList("axes_1_2", 1, 2)))
	absent := g.op("Sub", in(g.number("one", 1), m))
	return g.op("Mul", in(absent, g.number("masked", -10000)))
}

// embedding returns the sum of token and position embeddings, normalized.
func (g *graph) embedding() string {
	ids := g.op("Mod", in("input_ids", g.integer("vocabulary", textVocabulary)))
	tokens := g.op("Gather", in(g.uniformWeight("embeddings.word_embeddings.weight", 1, textVocabulary, textHidden), ids))

	zero, one := g.integer("int_0", 0), g.integer("int_1", 1)
	length := g.op("Gather", in(g.op("Shape", in("input_ids")), one))
	at := g.op("Mod", in(g.op("Range", in(zero, length, one)), g.integer("positions", textPositions)))
	positions := g.op("Gather", in(g.uniformWeight("embeddings.position_embeddings.weight", 1, textPositions, textHidden), at))
	return g.layerNorm("embeddings.LayerNorm", g.op("Add", in(tokens, positions)))
}

// attention returns multi-head self-attention with its output projection.
func (g *graph) attention(name, x, bias string) string {
	split := g.intList("split_heads", 0, 0, textHeads, textHidden/textHeads)
	head := func(part string, order ...int64) string {
		y := g.linear(name+"self."+part, x, textHidden, textHidden)
		y = g.op("Reshape", in(y, split))
		return g.op("Transpose", in(y), onnxmodel.IntsAttr("perm", order...))
	}
	q, k, v := head("query", 0, 2, 1, 3), head("key", 0, 2, 3, 1), head("value", 0, 2, 1, 3)
	scores := g.op("Div", in(g.op("MatMul", in(q, k)), g.number("sqrt_head", 8))) // the root of 64
	weights := g.op("Softmax", in(g.op("Add", in(scores, bias))), onnxmodel.IntAttr("axis", -1))
	y := g.op("Transpose", in(g.op("MatMul", in(weights, v))), onnxmodel.IntsAttr("perm", 0, 2, 1, 3))
	y = g.op("Reshape", in(y, g.intList("join_heads", 0, 0, textHidden)))
	return g.linear(name+"output.dense", y, textHidden, textHidden)
}

// linear returns x*W + b.
func (g *graph) linear(name, x string, from, to int64) string {
	w := g.scaledWeight(name+".weight", 1, from, from, to)
	return g.op("Add", in(g.op("MatMul", in(x, w)), g.uniformWeight(name+".bias", 0.05, to)))
}

func (g *graph) layerNorm(name, x string) string {
	return g.op("LayerNormalization", in(x,
		g.constantWeight(name+".weight", textHidden, 1), g.uniformWeight(name+".bias", 0.05, textHidden),
	), onnxmodel.IntAttr("axis", -1), onnxmodel.FloatAttr("epsilon", 1e-12))
}

// gelu returns x/2 * (1 + erf(x/sqrt(2))).
func (g *graph) gelu(x string) string {
	e := g.op("Erf", in(g.op("Div", in(x, g.number("sqrt_2", 1.4142135)))))
	y := g.op("Mul", in(x, g.op("Add", in(e, g.number("one", 1)))))
	return g.op("Mul", in(y, g.number("half", 0.5)))
}

// meanOf returns the mean over the positions that the mask selects.
func (g *graph) meanOf(x, mask string) string {
	axis := g.intList("axes_1", 1)
	none := onnxmodel.IntAttr("keepdims", 0)
	sum := g.op("ReduceSum", in(g.op("Mul", in(x, g.op("Unsqueeze", in(mask, g.intList("axes_2", 2))))), axis), none)
	count := g.op("ReduceSum", in(mask, axis), onnxmodel.IntAttr("keepdims", 1))
	return g.op("Div", in(sum, g.op("Max", in(count, g.number("one", 1)))))
}
