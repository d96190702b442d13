package traffic

import (
	"time"

	"triton/pkg/status"
	"triton/pkg/trafficrules"
)

// Status returns the state of a model's rules, with the sampled differences of its shadow if diffs
// is set. A model without rules is an error.
func (s *Service) Status(model string, diffs bool) (*trafficrules.Status, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.names[model]
	if n == nil || n.rules() == nil {
		return nil, status.New(status.NotFound, "'%s' has no traffic rules", model)
	}
	return n.status(diffs), nil
}

// List returns the states of all names with rules.
func (s *Service) List() []*trafficrules.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := []*trafficrules.Status{}
	for _, n := range s.sorted() {
		if n.rules() != nil {
			all = append(all, n.status(false))
		}
	}
	return all
}

// status returns the state. The caller holds the lock.
func (n *name) status(diffs bool) *trafficrules.Status {
	st := &trafficrules.Status{
		Model: n.name, Source: "file", Generation: n.generation, Rules: n.rules(),
		Sequences: n.sequences.count(time.Now()), Decisions: []trafficrules.Decision{},
	}
	if n.live != nil {
		st.Source = "live"
	}
	if n.canary != nil {
		st.Canary = n.canary.Status()
	}
	if n.shadow != nil {
		st.Shadow = n.shadow.Status(diffs)
	}
	for _, d := range n.decisions.all() {
		st.Decisions = append(st.Decisions, trafficrules.Decision{Target: d.model, Version: d.version, Rule: d.rule, Count: d.count.Load()})
	}
	return st
}
