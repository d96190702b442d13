package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxFile bounds a file of rules, in bytes.
const maxFile = 1 << 20

const groupPrefix = "group:"

// openable are the actions that may need no identity.
var openable = []Action{ActionHealth, ActionReady, ActionMetrics}

// Parse reads rules in YAML. The error lists all mistakes with their lines.
func Parse(text []byte) (*Policy, error) {
	if len(text) > maxFile {
		return nil, fmt.Errorf("has %d bytes, may have %d", len(text), maxFile)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	p := &parser{policy: &Policy{open: Actions(0).Add(ActionHealth), groups: map[string][]string{}}}
	if len(doc.Content) == 0 {
		return nil, errors.New("line 1: the file is empty: it needs rules; \"rules: []\" denies everything but health")
	}
	p.document(doc.Content[0])
	return p.policy, errors.Join(p.errs...)
}

type parser struct {
	policy *Policy
	errs   []error
	used   map[string]*yaml.Node // groups that rules name
}

func (p *parser) bad(n *yaml.Node, format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf("line %d: "+format, append([]any{n.Line}, args...)...))
}

// fields calls visit for each key of a mapping.
func (p *parser) fields(n *yaml.Node, what string, visit func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		p.bad(n, "%s must be a mapping of keys to values", what)
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if seen[key.Value] {
			p.bad(key, "%q occurs twice", key.Value)
			continue
		}
		seen[key.Value] = true
		visit(key, n.Content[i+1])
	}
}

// items returns the texts of a list.
func (p *parser) items(n *yaml.Node, what string) (items []*yaml.Node) {
	if n.Kind != yaml.SequenceNode {
		p.bad(n, "%s must be a list", what)
		return nil
	}
	for _, item := range n.Content {
		if item.Kind != yaml.ScalarNode || item.Value == "" {
			p.bad(item, "%s must have texts that are not empty", what)
			continue
		}
		items = append(items, item)
	}
	return items
}

func (p *parser) document(n *yaml.Node) {
	p.used = map[string]*yaml.Node{}
	var rules, limits *yaml.Node
	p.fields(n, "the file", func(key, value *yaml.Node) {
		switch key.Value {
		case "open":
			p.open(value)
		case "groups":
			p.groups(value)
		case "rules":
			rules = value
		case "limits":
			limits = value
		default:
			p.bad(key, "unknown key %q: known are open, groups, rules and limits", key.Value)
		}
	})
	if limits != nil {
		p.limits(limits)
	}
	p.rules(n, rules)
	for name, at := range p.used {
		if _, known := p.policy.groups[name]; !known {
			p.bad(at, "unknown group %q", name)
		}
	}
}

// rules reads the list of rules of the document n.
func (p *parser) rules(n, rules *yaml.Node) {
	switch {
	case rules == nil:
		if n.Kind == yaml.MappingNode {
			p.bad(n, "there are no rules; \"rules: []\" denies everything but health")
		}
		return
	case rules.Kind != yaml.SequenceNode:
		p.bad(rules, "rules must be a list")
		return
	}
	for _, r := range rules.Content {
		p.rule(r)
	}
}

func (p *parser) open(n *yaml.Node) {
	p.policy.open = 0
	for _, item := range p.items(n, "open") {
		a, _ := ParseAction(item.Value)
		if !slices.Contains(openable, a) {
			p.bad(item, "%q cannot be open: only health, ready and metrics can; give a right to \"anonymous\" instead", item.Value)
			continue
		}
		p.policy.open = p.policy.open.Add(a)
	}
}

func (p *parser) groups(n *yaml.Node) {
	p.fields(n, "groups", func(key, value *yaml.Node) {
		var members []string
		for _, item := range p.items(value, "a group") {
			if strings.HasPrefix(item.Value, groupPrefix) {
				p.bad(item, "group %q contains a group: list its principals", key.Value)
				continue
			}
			p.principal(item)
			members = append(members, item.Value)
		}
		p.policy.groups[key.Value] = members
	})
}

// proofs are what the names of principals begin with.
var proofs = []string{"key:", "jwt:", "jwt-group:", "cert:", "dns:", "spiffe://", "uid:", "gid:"}

// principal checks the form of a principal.
func (p *parser) principal(n *yaml.Node) {
	switch {
	case n.Value == "*" || n.Value == "authenticated" || n.Value == Anonymous:
	case !slices.ContainsFunc(proofs, func(proof string) bool { return strings.HasPrefix(n.Value, proof) }):
		p.bad(n, "unknown principal %q: it begins with one of %s, or is group:<name>, authenticated, anonymous or *", n.Value, strings.Join(proofs, " "))
	}
}

func (p *parser) rule(n *yaml.Node) {
	var r rule
	var who, allow, models *yaml.Node
	p.fields(n, "a rule", func(key, value *yaml.Node) {
		switch key.Value {
		case "who":
			who = value
		case "allow":
			allow = value
		case "models":
			models = value
		default:
			p.bad(key, "unknown key %q: known are who, allow and models", key.Value)
		}
	})
	if n.Kind != yaml.MappingNode {
		return
	}
	if who == nil || allow == nil {
		p.bad(n, "a rule needs who and allow")
		return
	}
	r.who = p.callers(who)
	if models != nil {
		r.models, r.all = p.patterns(models)
	}
	p.allow(&r, n, allow, models)
	p.policy.rules = append(p.policy.rules, r)
}

// allow reads the actions of a rule and checks that it names models exactly if they
// concern models.
func (p *parser) allow(r *rule, n, allow, models *yaml.Node) {
	ofModels := false
	for _, item := range p.items(allow, "allow") {
		a, known := ParseAction(item.Value)
		switch {
		case item.Value == "*":
			ofModels = true
			for _, a := range AllActions() {
				if a.OfModel() || r.all {
					r.allow = r.allow.Add(a)
				}
			}
		case !known:
			p.bad(item, "unknown action %q: known are %v and *", item.Value, AllActions())
		case !a.OfModel() && models != nil && !r.all:
			p.bad(item, "%s concerns the whole server, not single models: grant it in a rule without models", a)
		default:
			ofModels = ofModels || a.OfModel()
			r.allow = r.allow.Add(a)
		}
	}
	if ofModels && models == nil {
		p.bad(n, "the rule grants actions on models and names no models; all are models: [\"*\"]")
	}
	if models == nil {
		r.all = true
	}
}
