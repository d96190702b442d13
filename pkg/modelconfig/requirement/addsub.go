package requirement

import (
	"fmt"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
)

// addSub checks for two INT32 vectors and two results like them, instances on the CPU, and passive
// ones on GPUs.
func (k *checker) addSub() {
	switch {
	case len(k.Input) != 2:
		k.add(ruleTensors, "input", "list INPUT0 and INPUT1", "model must have two inputs")
		return
	case len(k.Output) != 2:
		k.add(ruleTensors, "output", "list OUTPUT0 and OUTPUT1", "model must have two outputs")
		return
	}
	for i := range k.Input {
		in, out := k.in(i), k.out(i)
		if len(in.GetDims()) != 1 {
			k.add(ruleTensors, in.path+".dims", "write one dimension", "model must have input of one-dimensional shape")
		}
		k.sameShape(in)
		k.numbered("input", "INPUT", i, in)
		k.sameShape(out)
		k.numbered("output", "OUTPUT", i, out)
	}
	for i, g := range k.InstanceGroup {
		path := fmt.Sprintf("instance_group[%d]", i)
		switch kind := g.GetKind(); {
		case kind == inferencepb.ModelInstanceGroup_KIND_CPU && g.GetPassive():
			k.add(ruleKind, path+".passive", "remove passive", "CPU instance should not be passive")
		case kind == inferencepb.ModelInstanceGroup_KIND_GPU && !g.GetPassive():
			k.add(ruleKind, path, "write passive: true", "GPU instance should be passive")
		case kind != inferencepb.ModelInstanceGroup_KIND_CPU && kind != inferencepb.ModelInstanceGroup_KIND_GPU:
			k.add(ruleKind, path+".kind", "write kind: KIND_CPU", "instance kind must be CPU or GPU")
		}
	}
}

func (k *checker) sameShape(p port) {
	if !tensor.Shape(p.GetDims()).Equal(k.Input[0].GetDims()) {
		k.add(ruleTensors, p.path+".dims", "write the dims of INPUT0", "model must have consistent shape for all tensors")
	}
}

// numbered checks that value number i has type INT32 and the name that prefix and i make.
func (k *checker) numbered(kind, prefix string, i int, p port) {
	if p.GetDataType() != inferencepb.DataType_TYPE_INT32 {
		k.add(ruleTensors, p.path+".data_type", "write data_type: TYPE_INT32", "model %s must have TYPE_INT32 data-type", kind)
	}
	if name := fmt.Sprint(prefix, i); p.GetName() != name {
		k.add(ruleTensors, p.path+".name", fmt.Sprintf("write name: %q", name), "model %s must be named '%s' at index %d", kind, name, i)
	}
}
