// Package policy decides what principals may do, and how much: it names the actions of calls,
// reads a file of rules, answers whether one of them grants an action on a model and which limit
// concerns a request, and counts what callers use of their quotas. What no rule grants is denied. It
// knows nothing of protocols.
package policy

import (
	"strings"
)

// Policy is a checked set of rules. It does not change.
type Policy struct {
	open   Actions
	groups map[string][]string
	rules  []rule
	limits []*Limit
}

// rule grants actions on models to principals.
type rule struct {
	who    []string
	allow  Actions
	models []pattern
	all    bool // one of the models is "*": the rule grants actions on the server too
}

// Authenticated returns the policy of a server without a file of rules: a principal with a
// proven identity may do everything, others only ask for the server's health.
func Authenticated() *Policy {
	r := rule{who: []string{"authenticated"}, models: []pattern{{name: "*"}}, all: true}
	for _, a := range AllActions() {
		r.allow = r.allow.Add(a)
	}
	return &Policy{open: Actions(0).Add(ActionHealth), rules: []rule{r}}
}

// Open reports whether an action needs no right and no identity.
func (p *Policy) Open(a Action) bool { return p.open.Has(a) }

// granted is what a policy grants to a principal: the rules that concern it.
type granted struct {
	by    *Policy
	some  Actions // for at least one model, or for the server
	all   Actions // without regard to the model
	rules []*rule
	// limits are those that concern the principal, in the order of the file.
	limits []*Limit
}

// Allows reports whether a principal may do an action with a version of a model. An empty
// version is the server's choice. An empty model asks whether the principal may do the action
// with any model at all; actions that do not concern models have none.
func (p *Policy) Allows(who *Principal, a Action, model, version string) bool {
	if p.Open(a) {
		return true
	}
	g := p.granted(who)
	if !a.OfModel() || g.all.Has(a) {
		return g.all.Has(a)
	}
	if model == "" {
		return g.some.Has(a)
	}
	for _, r := range g.rules {
		if r.allow.Has(a) && matches(r.models, model, version) {
			return true
		}
	}
	return false
}

// AllowsAll reports whether a principal may do an action with every model.
func (p *Policy) AllowsAll(who *Principal, a Action) bool {
	return p.Open(a) || p.granted(who).all.Has(a)
}

// granted returns what the policy grants to a principal.
func (p *Policy) granted(who *Principal) *granted {
	g := who.granted.Load()
	if g == nil || g.by != p {
		g = p.grant(who)
		who.granted.Store(g)
	}
	return g
}

// grant finds the rules of a principal.
func (p *Policy) grant(who *Principal) *granted {
	g := &granted{by: p}
	for i := range p.rules {
		r := &p.rules[i]
		if !p.concerns(r.who, who) {
			continue
		}
		g.some |= r.allow
		if r.all {
			g.all |= r.allow
		} else {
			g.rules = append(g.rules, r)
		}
	}
	for _, l := range p.limits {
		if p.concerns(l.who, who) {
			g.limits = append(g.limits, l)
		}
	}
	return g
}

// concerns reports whether a list of principals includes one.
func (p *Policy) concerns(list []string, who *Principal) bool {
	for _, entry := range list {
		if entry == "*" || entry == "authenticated" && who.Name != Anonymous {
			return true
		}
		if name, ok := strings.CutPrefix(entry, groupPrefix); ok {
			if p.concerns(p.groups[name], who) { // groups contain no groups
				return true
			}
			continue
		}
		if who.names(func(n string) bool { return glob(entry, n) }) {
			return true
		}
	}
	return false
}

// matches reports whether one of the patterns selects a version of a model.
func matches(models []pattern, model, version string) bool {
	for _, m := range models {
		if glob(m.name, model) && (m.version == "" || glob(m.version, version) && version != "") {
			return true
		}
	}
	return false
}
