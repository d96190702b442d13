package requirement

import (
	"slices"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
)

// controlNames returns the names of the control inputs, in order.
func (k *checker) controlNames() []string {
	var names []string
	for _, c := range k.GetSequenceBatching().GetControlInput() {
		names = append(names, c.GetName())
	}
	return names
}

const controlInputs = "sequence_batching.control_input"

func (k *checker) sequence() {
	k.counts("execute_delay_ms")
	names := k.controlNames()
	slices.Sort(names)
	if !slices.Equal(names, []string{"READY", "START"}) {
		k.add(ruleControls, controlInputs, "list them both", "'START' and 'READY' must be configured as the control inputs")
	}
	k.vectors()
	k.onlyCPU()
}

func (k *checker) dynaSequence() {
	k.counts("execute_delay_ms")
	controls := k.GetSequenceBatching().GetControlInput()
	var id *inferencepb.ModelSequenceBatching_ControlInput
	for _, c := range controls {
		if c.GetName() == "CORRID" {
			id = c
		}
	}
	if len(controls) != 4 || id == nil || len(id.GetControl()) == 0 {
		k.add(ruleControls, controlInputs, "list all four", "'START', 'END, 'READY' and 'CORRID' must be configured as the control inputs")
		return
	}
	if d := id.GetControl()[0].GetDataType(); d != inferencepb.DataType_TYPE_UINT64 && d != inferencepb.DataType_TYPE_STRING {
		k.add(ruleControls, controlInputs, "write data_type: TYPE_UINT64", "model CORRID control input must have TYPE_UINT64 or TYPE_STRING data-type")
	}
	k.vectors()
	k.onlyCPU()
}

func (k *checker) implicitState() {
	names := k.controlNames()
	known := func(name string) bool { return slices.Contains([]string{"START", "END", "READY"}, name) }
	if len(names) != 3 || !slices.ContainsFunc(names, known) {
		k.add(ruleControls, controlInputs, "list all three", "'START', 'END, and 'READY' must be configured as the control inputs")
	}
}

// iterativeSequence checks no tensors, like NVIDIA's backend.
func (k *checker) iterativeSequence() { k.onlyCPU() }

// vectors checks for one INT32 vector INPUT and an OUTPUT like it.
func (k *checker) vectors() {
	bad := func(path, hint, text string) { k.add(ruleTensors, path, hint, "%s", text) }
	switch ins, outs := k.Input, k.Output; {
	case len(ins) != 1:
		bad("input", "list INPUT alone", "model must have input 'INPUT' with vector shape, any length")
	case len(ins[0].GetDims()) != 1:
		bad("input[0].dims", "write dims: [ -1 ]", "model must have one input 'INPUT' with vector shape, any length")
	case ins[0].GetDataType() != inferencepb.DataType_TYPE_INT32:
		bad("input[0].data_type", "write data_type: TYPE_INT32", "model input must have TYPE_INT32 data-type")
	case ins[0].GetName() != "INPUT":
		bad("input[0].name", `write name: "INPUT"`, "model input must be named 'INPUT'")
	case len(outs) != 1:
		bad("output", "list OUTPUT alone", "model must have one output 'OUTPUT' with vector shape, any length")
	case !tensor.Shape(outs[0].GetDims()).Equal(ins[0].GetDims()):
		bad("output[0].dims", "write the dims of INPUT", "model must have output 'OUTPUT' with shape matching 'INPUT'")
	case outs[0].GetDataType() != inferencepb.DataType_TYPE_INT32:
		bad("output[0].data_type", "write data_type: TYPE_INT32", "model output must have TYPE_INT32 data-type")
	case outs[0].GetName() != "OUTPUT":
		bad("output[0].name", `write name: "OUTPUT"`, "model output must be named 'OUTPUT'")
	}
}
