package requirement

import (
	"fmt"
	"strings"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// identity checks for pairs of an input and an output that are alike.
func (k *checker) identity() {
	k.pairs()
	k.counts("execute_delay_ms", "instance_wise_delay_multiplier", "creation_delay_sec")
}

// fault checks the configuration of the backend for tests, whose parameters order faults.
func (k *checker) fault() {
	const key = "load_error"
	if text := k.GetParameters()[key].GetStringValue(); text != "" {
		k.add(ruleParameters, fmt.Sprintf("parameters[%q]", key), "remove it", "%s", text)
		k.found[len(k.found)-1].Code = status.Internal
	}
	k.identity()
	k.counts("fail", "refuse", "panic", "silent", "twice", "broken", "stuck", "late")
}

func (k *checker) pairs() {
	if len(k.Input) != len(k.Output) {
		k.add(ruleTensors, "output", "list an output for each input", "model configuration must have equal input/output pairs")
		return
	}
	byIndex := map[string]*inferencepb.ModelInput{}
	for i, in := range k.Input {
		index, ok := strings.CutPrefix(in.GetName(), "INPUT")
		if !ok {
			k.add(ruleTensors, k.in(i).path+".name", fmt.Sprintf(`write name: "INPUT%d"`, i), "expected input name to follow INPUT<index> pattern, got '%s'", in.GetName())
			return
		}
		if !strings.HasPrefix(k.Output[i].GetName(), "OUTPUT") {
			k.add(ruleTensors, k.out(i).path+".name", fmt.Sprintf(`write name: "OUTPUT%d"`, i), "expected output name to follow OUTPUT<index> pattern, got '%s'", k.Output[i].GetName())
			return
		}
		byIndex[index] = in
	}
	for i, out := range k.Output {
		if in := byIndex[strings.TrimPrefix(out.GetName(), "OUTPUT")]; in != nil {
			k.alike(in, out, k.out(i).path)
		} else {
			k.add(ruleTensors, k.out(i).path+".name", "give each output the number of an input", "expected input and output indices to match")
		}
	}
}

// alike compares an input with the output that returns it.
func (k *checker) alike(in *inferencepb.ModelInput, out *inferencepb.ModelOutput, path string) {
	if in.GetDataType() != out.GetDataType() {
		k.add(ruleTensors, path+".data_type", "write data_type: "+in.GetDataType().String(),
			"expected input and output datatype to match, got %s and %s", in.GetDataType(), out.GetDataType())
	}
	a, b := tensor.Shape(in.GetDims()), tensor.Shape(out.GetDims())
	if in.GetReshape() != nil {
		a = in.GetReshape().GetShape()
	}
	if out.GetReshape() != nil {
		b = out.GetReshape().GetShape()
	}
	if !a.Equal(b) {
		k.add(ruleTensors, path+".dims", fmt.Sprintf("write the dims of input '%s'", in.GetName()), "expected input and output shape to match, got %s and %s", a, b)
	}
}
