package policy

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"triton/server/infer"
)

// What a file may say.
const (
	maxRate       = 1e12 // per second
	maxConcurrent = 1 << 20
	maxWeight     = 1000
	maxBurst      = time.Hour
	defaultBurst  = time.Second
)

// limits reads the list of limits.
func (p *parser) limits(n *yaml.Node) {
	if n.Kind != yaml.SequenceNode {
		p.bad(n, "limits must be a list")
		return
	}
	for _, l := range n.Content {
		p.limit(l)
	}
	if len(n.Content) == 0 {
		p.bad(n, "limits is empty: remove it, or limit somebody")
	}
}

// limit reads one limit.
func (p *parser) limit(n *yaml.Node) {
	l := &Limit{Weight: 1, Burst: defaultBurst, all: true}
	var who *yaml.Node
	set := map[string]bool{}
	p.fields(n, "a limit", func(key, value *yaml.Node) {
		set[key.Value] = true
		switch key.Value {
		case "who":
			who = value
			l.who = p.callers(value)
		case "models":
			l.models, l.all = p.patterns(value)
		case "requests_per_second":
			l.Requests = p.rate(key, value)
		case "rows_per_second":
			l.Rows = p.rate(key, value)
		case "bytes_per_second":
			l.Bytes = p.rate(key, value)
		case "burst":
			l.Burst = p.burst(value)
		case "concurrent_requests":
			l.Concurrent = p.count(key, value, maxConcurrent)
		case "weight":
			l.Weight = uint32(p.count(key, value, maxWeight)) //nolint:gosec // at most maxWeight
		case "class":
			l.Class = p.class(value)
		case "shared":
			l.Shared = p.truth(key, value)
		default:
			p.bad(key, "unknown key %q: known are who, models, requests_per_second, rows_per_second, bytes_per_second, burst, concurrent_requests, weight, class and shared", key.Value)
		}
	})
	if n.Kind != yaml.MappingNode {
		return
	}
	if who != nil && who.Kind == yaml.SequenceNode && len(who.Content) == 0 {
		p.bad(who, "who lists nobody")
	}
	if !l.all && len(l.models) == 0 {
		p.bad(n, "models lists no model; without models the limit is for all")
	}
	switch rates := set["requests_per_second"] || set["rows_per_second"] || set["bytes_per_second"]; {
	case who == nil:
		p.bad(n, "a limit needs who: the callers that it is for, such as [\"*\"]")
	case set["burst"] && !rates:
		p.bad(n, "burst belongs to a rate: set requests_per_second, rows_per_second or bytes_per_second too")
	case !rates && !set["concurrent_requests"] && !set["weight"] && !set["class"] && !set["shared"]:
		p.bad(n, "the limit limits nothing: set a rate, concurrent_requests, weight or class")
	}
	plain := *l
	l.Text = fmt.Sprintf("%#v", plain)
	p.policy.limits = append(p.policy.limits, l)
}

// callers reads a list of principals and groups.
func (p *parser) callers(n *yaml.Node) (who []string) {
	for _, item := range p.items(n, "who") {
		if name, ok := strings.CutPrefix(item.Value, groupPrefix); ok {
			p.used[name] = item
		} else {
			p.principal(item)
		}
		who = append(who, item.Value)
	}
	return who
}

// patterns reads a list of models, and reports whether it has all of them.
func (p *parser) patterns(n *yaml.Node) (models []pattern, all bool) {
	for _, item := range p.items(n, "models") {
		m := parsePattern(item.Value)
		models = append(models, m)
		all = all || m == pattern{name: "*"}
	}
	return models, all
}

func (p *parser) rate(key, n *yaml.Node) float64 {
	v, err := strconv.ParseFloat(n.Value, 64)
	if n.Kind != yaml.ScalarNode || err != nil || math.IsNaN(v) || v < 1e-3 || v > maxRate {
		p.bad(n, "%s is %q: it must be a number from 0.001 to %g; without it the rate is not limited", key.Value, n.Value, maxRate)
		return 1
	}
	return v
}

func (p *parser) count(key, n *yaml.Node, most int) int {
	v, err := strconv.Atoi(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || v < 1 || v > most {
		p.bad(n, "%s is %q: it must be a number from 1 to %d", key.Value, n.Value, most)
		return 1
	}
	return v
}

func (p *parser) burst(n *yaml.Node) time.Duration {
	d, err := time.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || d < time.Millisecond || d > maxBurst {
		p.bad(n, "burst is %q: it must be a time from 1ms to %v, such as 2s", n.Value, maxBurst)
		return defaultBurst
	}
	return d
}

func (p *parser) class(n *yaml.Node) infer.Class {
	c, known := infer.ParseClass(n.Value)
	if n.Kind != yaml.ScalarNode || !known {
		p.bad(n, "unknown class %q: known are interactive, standard and batch", n.Value)
	}
	return c
}

func (p *parser) truth(key, n *yaml.Node) bool {
	if n.Kind != yaml.ScalarNode || n.Value != "true" && n.Value != "false" {
		p.bad(n, "%s is %q: it must be true or false", key.Value, n.Value)
	}
	return n.Value == "true"
}
