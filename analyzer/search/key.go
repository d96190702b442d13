package search

import (
	"encoding/json"
	"fmt"

	"triton/analyzer/trial"
)

// proposalKey identifies a proposal: proposals with equal keys ask for the same measurement.
func proposalKey(p trial.Proposal) string { return encode(p.Members) }

// serverKey identifies the configuration of the server that a proposal asks for.
func serverKey(p trial.Proposal) string {
	members := make([]trial.ProposedMember, len(p.Members))
	for i, m := range p.Members {
		m.Load = trial.Load{}
		members[i] = m
	}
	return encode(members)
}

// encode returns the JSON form, in which the keys of maps are sorted.
func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%#v", v) // not JSON, such as NaN in a patch
	}
	return string(b)
}

// Default returns a model of a proposal with the user's configuration.
func (m Model) Default(load trial.Load) trial.ProposedMember {
	p := trial.ProposedMember{Model: m.Name, Load: load}
	for _, c := range m.Composing {
		p.Composing = append(p.Composing, trial.ProposedMember{Model: c.Name})
	}
	return p
}

// DefaultLoad returns the load for a configuration in searches that do not vary it by itself:
// two full batches for each instance.
func (s Space) DefaultLoad(m Model, instances, maxBatch int) trial.Load {
	switch {
	case m.Load != nil:
		return *m.Load
	case m.Intervals != "":
		return trial.Load{Batch: 1, Intervals: m.Intervals}
	}
	return s.Load(1, s.Values().Clamp(2*max(maxBatch, 1)*max(instances, 1)))
}

// Other identifies what a patch changes apart from the number of instances and the largest batch.
func (m Model) Other(p trial.Patch) string {
	other := rest(p, false)
	if batcher, ok := other[dynamicBatching].(map[string]any); ok && len(batcher) == 0 {
		delete(other, dynamicBatching) // enables the batcher, which takes no memory
	}
	return m.Name + " " + m.kind(p) + encode(other)
}
