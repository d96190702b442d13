package isolated

import "triton/pkg/inferencepb"

// namesOf returns the names of a configuration's outputs and states.
func namesOf(c *inferencepb.ModelConfig) map[string]string {
	all := map[string]string{}
	for _, out := range c.GetOutput() {
		all[out.GetName()] = out.GetName()
	}
	for _, s := range c.GetSequenceBatching().GetState() {
		all[s.GetOutputName()] = s.GetOutputName()
	}
	return all
}
