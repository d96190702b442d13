package requirement

import "triton/pkg/status"

// python checks the parameters of NVIDIA's Python backend that have no effect here: inputs are
// always in the memory of the CPU.
func (k *checker) python() {
	const key = "FORCE_CPU_ONLY_INPUT_TENSORS"
	p, ok := k.GetParameters()[key]
	if v := p.GetStringValue(); ok && v != "yes" && v != "no" {
		k.add(ruleParameters, `parameters["`+key+`"]`, `write "yes" or "no"`, "Incorrect value for FORCE_CPU_ONLY_INPUT_TENSORS: %s'", v)
		k.found[len(k.found)-1].Code = status.Unsupported
	}
}
