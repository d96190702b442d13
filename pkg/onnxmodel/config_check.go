package onnxmodel

import (
	"fmt"
	"slices"
	"strings"

	pb "triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/spelling"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// The rules that CheckConfig reports.
const (
	ruleCount     = "TRN601"
	ruleValueName = "TRN602"
	ruleType      = "TRN603"
	ruleDims      = "TRN604"
	ruleBatch     = "TRN605"
	ruleOptional  = "TRN606"
	ruleControl   = "TRN607"
	ruleKind      = "TRN608"
)

// ConfigRules lists the rules of this package by id.
func ConfigRules() []modelconfig.Rule {
	return []modelconfig.Rule{
		{ID: ruleCount, Doc: "the configuration lists as many inputs as the ONNX graph needs"},
		{ID: ruleValueName, Doc: "every input and output is one of the ONNX graph's"},
		{ID: ruleType, Doc: "data_type is the ONNX graph's element type"},
		{ID: ruleDims, Doc: "dims (or reshape) are the ONNX graph's shape"},
		{ID: ruleBatch, Doc: "the first dimension of the ONNX graph is variable when max_batch_size is not 0"},
		{ID: ruleOptional, Doc: "optional inputs need a default in the ONNX graph and max_batch_size 0"},
		{ID: ruleControl, Doc: "sequence controls are inputs of the ONNX graph with dims [1]"},
		{ID: ruleKind, Doc: "inputs and outputs of the ONNX graph are tensors"},
	}
}

// CheckConfig compares a complete configuration with the graph. The findings are in the order
// of Triton's checks; Triton reports modelconfig.FirstError of them.
func CheckConfig(cfg *pb.ModelConfig, graph *Model) []modelconfig.Finding {
	c := checker{cfg: cfg, graph: graph}
	if !c.tensors(graph.Inputs) {
		return c.found
	}
	controls := c.controls()
	c.inputCount(controls)
	for i, in := range cfg.Input {
		c.input(fmt.Sprintf("input[%d]", i), in)
	}
	for i, b := range cfg.BatchInput {
		for j, name := range b.TargetName {
			path := fmt.Sprintf("batch_input[%d].target_name[%d]", i, j)
			if v, ok := graph.Input(name); !ok {
				c.unknown(path, "input", name, graph.Inputs)
			} else {
				c.scalar(path, v)
			}
		}
	}
	if !c.tensors(graph.Outputs) {
		return c.found
	}
	for i, out := range cfg.Output {
		c.output(fmt.Sprintf("output[%d]", i), out)
	}
	for i, s := range cfg.GetSequenceBatching().GetState() {
		c.state(i, s)
	}
	return c.found
}

// CheckTensorKinds returns a finding if an input or output of the graph is no tensor.
func CheckTensorKinds(cfg *pb.ModelConfig, graph *Model) []modelconfig.Finding {
	c := checker{cfg: cfg, graph: graph}
	_ = c.tensors(slices.Concat(graph.Inputs, graph.Outputs))
	return c.found
}

type checker struct {
	cfg   *pb.ModelConfig
	graph *Model
	found []modelconfig.Finding
}

func (c *checker) add(rule, path, hint, format string, args ...any) {
	c.found = append(c.found, modelconfig.Finding{
		Rule: rule, Code: status.InvalidArg, Path: path, Msg: fmt.Sprintf(format, args...), Hint: hint,
	})
}

func (c *checker) tensors(values []Value) bool {
	err := onlyTensors(values)
	if err != nil {
		c.add(ruleKind, "", kindHint(c.graph.Outputs), "%s", err.Error())
		c.found[len(c.found)-1].Code = status.Unsupported
	}
	return err == nil
}

// kindHint returns what to do about inputs or outputs that are no tensors. Sequences of outputs come from
// the converters of scikit-learn's classifiers, which add the operator ZipMap.
func kindHint(outputs []Value) string {
	for _, v := range outputs {
		if v.Kind == KindSequence || v.Kind == KindMap {
			return `if it comes from ZipMap, convert the model with the option zipmap: False, as in to_onnx(model, X, options={"zipmap": False}) of skl2onnx`
		}
	}
	return "such a model cannot be served: convert it"
}

func (c *checker) internal() { c.found[len(c.found)-1].Code = status.Internal }

func (c *checker) inputCount(controls int) {
	n := controls + len(c.cfg.BatchInput) + len(c.cfg.GetSequenceBatching().GetState())
	for _, in := range c.cfg.Input {
		if !in.Optional {
			n++
		}
	}
	if have := len(c.graph.Inputs); n != have {
		c.add(ruleCount, "input", "the graph has "+valueNames(c.graph.Inputs),
			"unable to load model '%s', configuration expects %d inputs, model provides %d", c.cfg.Name, n, have)
	}
}

func valueNames(values []Value) string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = v.Name
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

func (c *checker) unknown(path, kind, name string, allowed []Value) {
	list := valueNames(allowed)
	c.add(ruleValueName, path, spelling.Hint(name, strings.Split(list, ", "), "use one of them"), "unexpected inference %s '%s', allowed %ss are: %s", kind, name, kind, list)
}

func (c *checker) input(path string, in *pb.ModelInput) {
	v, ok := c.graph.Input(in.Name)
	if in.Optional && c.cfg.MaxBatchSize != 0 {
		c.add(ruleOptional, path+".optional", "remove optional or max_batch_size",
			"unable to load model '%s', optional input '%s' is not supported for models that support batching", c.cfg.Name, in.Name)
	}
	if !ok {
		c.unknown(path+".name", "input", in.Name, slices.Concat(c.graph.Inputs, c.graph.Overridable))
		return
	}
	if !c.dataType(path, "input", in.Name, in.DataType, v) {
		return
	}
	dims, field := in.Dims, ".dims"
	if in.Reshape != nil {
		dims, field = in.Reshape.Shape, ".reshape"
	}
	if in.AllowRaggedBatch {
		c.ragged(path, in, v)
		return
	}
	c.dims(path+field, in.Name, dims, v, false)
}

func (c *checker) output(path string, out *pb.ModelOutput) {
	v, ok := c.graph.Output(out.Name)
	if !ok {
		c.unknown(path+".name", "output", out.Name, c.graph.Outputs)
		return
	}
	if !c.dataType(path, "output", out.Name, out.DataType, v) {
		return
	}
	dims, field := out.Dims, ".dims"
	if out.Reshape != nil {
		dims, field = out.Reshape.Shape, ".reshape"
	}
	for _, b := range c.cfg.BatchOutput {
		if slices.Contains(b.TargetName, out.Name) {
			c.scalar(path+field, v)
			return // its shape depends on the batch
		}
	}
	// ONNX Runtime may know dimensions that the file leaves open.
	c.dims(path+field, out.Name, dims, v, c.graph.Inferred)
}

func (c *checker) dataType(path, kind, name string, want pb.DataType, v Value) bool {
	if ElemTypeOf(tensor.DataType(want)) == Undefined {
		c.add(ruleType, path+".data_type", "", "unsupported datatype %s for %s '%s' for model '%s'", want, kind, name, c.cfg.Name)
		c.internal()
		return false
	}
	have := v.Elem.DataType()
	if tensor.DataType(want) == have {
		return true
	}
	hint := "write data_type: " + have.ConfigName()
	if have == tensor.Invalid {
		hint = fmt.Sprintf("the graph's type %s cannot be served: convert the model", v.Elem)
	}
	c.add(ruleType, path+".data_type", hint, "unable to load model '%s', configuration expects datatype %s for %s '%s', model provides %s",
		c.cfg.Name, want, kind, name, have.ConfigName())
	return false
}

func (c *checker) ragged(path string, in *pb.ModelInput, v Value) {
	switch {
	case in.Optional:
		c.add(ruleOptional, path+".allow_ragged_batch", "remove one of them", "unable to load model '%s', configuration expects "+
			"model provides input with shape [-1] for ragged input '%s', which is not supported for optional input", c.cfg.Name, in.Name)
	case len(v.Dims) != 1 || v.Dims[0] != -1:
		c.add(ruleDims, path+".allow_ragged_batch", "remove it: the graph does not take the items of a batch in one row",
			"unable to load model '%s', configuration expects model provides input with shape [-1]  for ragged input '%s', model provides %s",
			c.cfg.Name, in.Name, tensor.Shape(v.Dims))
	}
}

// dims compares the configured dims with the graph's. An open dimension of the graph
// matches any configured one, unless exact is set.
func (c *checker) dims(path, name string, dims []int64, v Value, exact bool) {
	graph := tensor.Shape(v.Dims)
	if len(graph) == 0 {
		if c.scalar(path, v) {
			return
		}
		if slices.ContainsFunc(dims, func(d int64) bool { return d != 1 }) {
			c.add(ruleDims, path, "write dims: [ 1 ]", "unable to load model '%s', scalar tensor '%s', should only provide 1 in the "+
				"model configuration when the model doesn't support batching. Model configuration provided: %s.",
				c.cfg.Name, name, tensor.Shape(dims))
		}
		return
	}
	if c.cfg.MaxBatchSize > 0 && graph[0] != -1 {
		c.noBatch(path, name, "set max_batch_size: 0 and list all dims, or export the model with a variable first dimension", graph)
		return
	}
	full, tail := tensor.Shape(dims), ""
	if c.cfg.MaxBatchSize > 0 {
		full = slices.Concat(tensor.Shape{-1}, full)
		tail = fmt.Sprintf("an initial batch dimension because max_batch_size > 0 followed by the explicit tensor shape, making complete shape %s", full)
	} else {
		tail = fmt.Sprintf("shape %s", full)
	}
	if dimsFit(graph, full, exact) {
		return
	}
	c.add(ruleDims, path, c.dimsHint(path, graph), "model '%s', tensor '%s': the model expects %d dimensions (shape %s) but the model "+
		"configuration specifies %d dimensions (%s)", c.cfg.Name, name, len(graph), graph, len(full), tail)
}

// scalar refuses a scalar of the graph in a model that batches, because one value would be that of
// all items of a batch. It reports whether it did.
func (c *checker) scalar(path string, v Value) bool {
	if c.cfg.MaxBatchSize <= 1 || !v.Ranked || len(v.Dims) > 0 {
		return false
	}
	c.noBatch(path, v.Name, "it is a scalar, one value for the whole batch: set max_batch_size: 0, list all dims of the other tensors "+
		"and write dims: [ 1 ] without reshape here, or export the model with a variable first dimension", nil)
	return true
}

func (c *checker) noBatch(path, name, hint string, graph tensor.Shape) {
	c.add(ruleBatch, path, hint, "model '%s', tensor '%s': for the model to support batching the shape should have at least 1 dimension and "+
		"the first dimension must be -1; but shape expected by the model is %s", c.cfg.Name, name, graph)
}

func dimsFit(graph, full tensor.Shape, exact bool) bool {
	if len(graph) != len(full) {
		return false
	}
	for i, d := range graph {
		if d != full[i] && (exact || d != -1) {
			return false
		}
	}
	return true
}

func (c *checker) dimsHint(path string, graph tensor.Shape) string {
	if c.cfg.MaxBatchSize > 0 {
		graph = graph[1:]
	}
	list := strings.ReplaceAll(strings.Trim(graph.String(), "[]"), ",", ", ")
	switch {
	case strings.HasSuffix(path, ".reshape"):
		return fmt.Sprintf("write reshape { shape: [ %s ] }", list)
	case len(graph) == 0:
		return "write dims: [ 1 ] and reshape { shape: [ ] }"
	}
	return fmt.Sprintf("write dims: [ %s ]", list)
}
