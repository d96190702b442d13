// Package requirement checks what the backends of this program require of a completed
// configuration: names, types and shapes of tensors, controls, parameters, accelerators and devices. A backend
// calls Check when it loads a model; the linter calls it without loading one. The texts are those
// of the backends.
package requirement

import (
	"fmt"
	"maps"
	"slices"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

const (
	ruleTensors    = "TRN211"
	ruleControls   = "TRN308"
	ruleKind       = "TRN406"
	ruleParameters = "TRN821"
)

// Rules returns the rules of this package by ID.
func Rules() []modelconfig.Rule {
	return []modelconfig.Rule{
		{ID: ruleRuntime, Doc: "runtime, if it is set, is the library of the backend or model.py"},
		{ID: ruleUnknown, Doc: "the server has the backend"},
		{ID: ruleTensors, Doc: "inputs and outputs are those that the backend works on"},
		{ID: ruleControls, Doc: "the control inputs are those that the backend works on"},
		{ID: ruleKind, Doc: "the backend runs on the kind of its instance groups"},
		{ID: ruleParameters, Doc: "parameters of the backend have valid values"},
	}
}

// checks has the check of each backend; nil: it requires nothing.
var checks = map[string]func(*checker){
	"onnxruntime": (*checker).onnx,
	"python":      (*checker).python,
	"identity":    (*checker).identity,
	"fault":       (*checker).fault,
	"repeat":      (*checker).repeat,
	"square":      (*checker).square,
	"query":       nil,

	"sequence":           (*checker).sequence,
	"dyna_sequence":      (*checker).dynaSequence,
	"implicit_state":     (*checker).implicitState,
	"iterative_sequence": (*checker).iterativeSequence,
	"distributed_addsub": (*checker).addSub,

	"tokenizer":     (*checker).tokenizer,
	"postprocessor": (*checker).postprocessor,

	"pytorch": (*checker).python, "tensorflow": (*checker).python, "openvino": (*checker).python,
	"fil": (*checker).python, "xgboost": (*checker).python, "lightgbm": (*checker).python, "sklearn": (*checker).python,
}

// Backends returns the names of this program's backends, sorted.
func Backends() []string { return slices.Sorted(maps.Keys(checks)) }

// Check returns what a backend finds wrong with a configuration. The first finding is the one
// that a load reports. Backends of other programs find nothing.
func Check(backend string, c *modelconfig.Config) []modelconfig.Finding {
	k := checker{Config: c, backend: backend}
	if check := checks[backend]; check != nil {
		check(&k)
	}
	return k.found
}

// Ignored returns what is wrong in a configuration for a backend, and left out by it: the model is served.
func Ignored(backend string, c *modelconfig.Config) []modelconfig.Finding {
	k := checker{Config: c, backend: backend, ignored: true}
	if backend == "onnxruntime" {
		k.cpuAccelerators()
	}
	return k.found
}

// checker collects findings.
type checker struct {
	*modelconfig.Config
	backend string
	ignored bool // look for what is left out, not for what fails the load
	found   []modelconfig.Finding
}

func (k *checker) add(rule, path, hint, format string, args ...any) {
	k.found = append(k.found, modelconfig.Finding{
		Rule: rule, Code: status.InvalidArg, Path: path, Pos: k.Position(path), Msg: fmt.Sprintf(format, args...), Hint: hint,
	})
}

// port is an input or an output.
type port struct {
	path string
	value
}

// value has the common fields of inputs and outputs.
type value interface {
	GetName() string
	GetDataType() inferencepb.DataType
	GetDims() []int64
}

func (k *checker) in(i int) port  { return port{fmt.Sprintf("input[%d]", i), k.Input[i]} }
func (k *checker) out(i int) port { return port{fmt.Sprintf("output[%d]", i), k.Output[i]} }

// count checks the numbers of inputs and outputs.
func (k *checker) count(inputs, outputs int) bool {
	plural := func(n int, what string) string {
		if n == 1 {
			return "1 " + what
		}
		return fmt.Sprintf("%d %ss", n, what)
	}
	switch {
	case len(k.Input) != inputs:
		k.add(ruleTensors, "input", "list the inputs of the backend", "expected %s, got %d", plural(inputs, "input"), len(k.Input))
		return false
	case len(k.Output) != outputs:
		k.add(ruleTensors, "output", "list the outputs of the backend", "expected %s, got %d", plural(outputs, "output"), len(k.Output))
		return false
	}
	return true
}

func (k *checker) name(place, want string, p port) {
	if p.GetName() != want {
		k.add(ruleTensors, p.path+".name", fmt.Sprintf("write name: %q", want), "expected %s tensor name to be %s, got %s", place, want, p.GetName())
	}
}

// single checks for a tensor of one element.
func (k *checker) single(name string, p port) {
	if shape := tensor.Shape(p.GetDims()); !shape.Equal(tensor.Shape{1}) {
		k.add(ruleTensors, p.path+".dims", "write dims: [ 1 ]", "expected %s shape to be [1], got %s", name, shape)
	}
}

func (k *checker) dataType(name string, want inferencepb.DataType, p port) {
	if got := p.GetDataType(); got != want {
		k.add(ruleTensors, p.path+".data_type", "write data_type: "+want.String(), "expected %s datatype to be %s, got %s", name, want.String()[len("TYPE_"):], got)
	}
}

// onlyCPU checks the kind of the instance groups.
func (k *checker) onlyCPU() {
	for i, g := range k.InstanceGroup {
		if g.GetKind() != inferencepb.ModelInstanceGroup_KIND_CPU {
			k.add(ruleKind, fmt.Sprintf("instance_group[%d].kind", i), "write kind: KIND_CPU", "'%s' backend only supports CPU instances", k.backend)
		}
	}
}
