package traffic

import (
	"strings"

	"triton/pkg/trafficrules"
	"triton/server/infer"
)

// The rules of decisions, which are labels of metrics. Those of matches are "match:" and the
// name.
const (
	ruleWeight   = "weight"
	ruleSticky   = "sticky"
	ruleDefault  = "default"
	ruleSequence = "sequence"
	ruleFallback = "fallback" // the target was not ready, or another kind of model
)

// policy is the compiled rules of one name. It is not changed once requests see it: a canary's step
// makes a new one.
type policy struct {
	*name
	rules   *trafficrules.Rules
	matches []matcher
	targets []trafficrules.Target
	hashes  []uint64 // of the targets
	// weighted are the targets that are chosen by weight. cumulative are the sums of their
	// shares, of which the last is 1.
	weighted   []weighted
	cumulative []float64
	sticky     *key
	fallback   int // target
	canary     *canary
	canaryAt   int // target
	stableAt   int
	shadow     *shadow
}

type weighted struct {
	target int
	weight float64
}

// compile returns the policy of rules; c is the state of their canary and s their shadow, or nil.
func compile(n *name, r *trafficrules.Rules, c *canary, s *shadow) *policy {
	p := &policy{name: n, rules: r, canary: c, shadow: s, canaryAt: -1, stableAt: -1}
	for i := range r.Match {
		p.matches = append(p.matches, newMatcher(i, &r.Match[i], p.target(r.Match[i].To)))
	}
	for _, w := range r.Weights {
		p.addWeight(p.target(w.Target), w.Weight)
	}
	if c != nil {
		p.stableAt, p.canaryAt = p.target(r.Canary.Stable), p.target(r.Canary.Target)
		share := c.Weight()
		p.addWeight(p.stableAt, 100-share)
		p.addWeight(p.canaryAt, share)
	}
	p.fallback = p.target(r.Fallback(n.name))
	sum := 0.0
	for _, w := range p.weighted {
		sum += w.weight
	}
	total := 0.0
	for _, w := range p.weighted {
		total += w.weight / sum
		p.cumulative = append(p.cumulative, total)
	}
	if r.Sticky != nil {
		p.sticky = &key{header: strings.ToLower(r.Sticky.Header), parameter: r.Sticky.Parameter, correlation: r.Sticky.CorrelationID}
	}
	return p
}

// target returns the index of a target.
func (p *policy) target(t trafficrules.Target) int {
	t = t.Of(p.name.name)
	for i := range p.targets {
		if p.targets[i] == t {
			return i
		}
	}
	p.targets = append(p.targets, t)
	p.hashes = append(p.hashes, hashBytes(hashBytes(0, p.name.name), t.String()))
	return len(p.targets) - 1
}

// addWeight adds a target that is chosen by weight. One without weight is never chosen.
func (p *policy) addWeight(target int, weight float64) {
	if weight > 0 {
		p.weighted = append(p.weighted, weighted{target, weight})
	}
}

// choose returns the target of a request, and the rule that has chosen it.
func (p *policy) choose(r *infer.Request, h infer.Headers, random func() float64) (target int, rule string) {
	for i := range p.matches {
		if p.matches[i].matches(r, h) {
			return p.matches[i].to, p.matches[i].rule
		}
	}
	if len(p.weighted) == 0 {
		return p.fallback, ruleDefault
	}
	if p.sticky != nil {
		if key, ok := p.sticky.hash(r, h); ok {
			return p.byKey(key), ruleSticky
		}
	}
	if len(p.weighted) == 1 {
		return p.weighted[0].target, ruleWeight
	}
	return p.byShare(random()), ruleWeight
}

// byShare returns the target at a share from 0 to 1.
func (p *policy) byShare(u float64) int {
	for i, c := range p.cumulative {
		if u < c {
			return p.weighted[i].target
		}
	}
	return p.weighted[len(p.weighted)-1].target
}

// byKey returns the target of a key.
func (p *policy) byKey(key uint64) int {
	best, lowest := 0, 0.0
	for i, w := range p.weighted {
		if s := score(key, p.hashes[w.target], w.weight); i == 0 || s < lowest {
			best, lowest = w.target, s
		}
	}
	return best
}
