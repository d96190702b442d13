package trafficrules

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// The limits of a document.
const (
	maxTargets = 64
	maxText    = 1024 // of a name, a value or a pattern
	maxSteps   = 100
	maxDiffs   = 1024
	maxSeconds = 30 * 24 * 3600
)

// checker checks the rules of a name and stops at the first mistake.
type checker struct {
	name string
	err  error
}

func (c *checker) fail(field, format string, args ...any) {
	if c.err == nil {
		c.err = fieldError(field, format, args...)
	}
}

func (r *Rules) check(name string) error {
	c := checker{name: name}
	if r.Default != nil {
		c.target("default", *r.Default)
	}
	if len(r.Match)+len(r.Weights) > maxTargets {
		c.fail("", "there are %d matches and weights, more than %d", len(r.Match)+len(r.Weights), maxTargets)
	}
	for i := range r.Match {
		c.match(fmt.Sprintf("match[%d]", i), &r.Match[i])
	}
	c.weights(r.Weights)
	if r.Canary != nil {
		c.canary(r.Canary)
		if len(r.Weights) > 0 {
			c.fail("weights", "a canary sets the weights: remove weights or canary")
		}
	}
	if r.Sticky != nil {
		c.sticky(r.Sticky)
		if len(r.Weights) == 0 && r.Canary == nil {
			c.fail("sticky", "there are no weights and no canary to choose by")
		}
	}
	if r.Shadow != nil {
		c.shadow(r.Shadow)
	}
	return c.err
}

// target checks a target. One that is only the name itself is its newest version.
func (c *checker) target(field string, t Target) {
	if t.Version != "" {
		if n, err := strconv.ParseInt(t.Version, 10, 64); err != nil || n < 1 || strconv.FormatInt(n, 10) != t.Version {
			c.fail(field+".version", "'%s' is not the number of a version, such as \"2\"", t.Version)
		}
	}
	c.text(field+".model", t.Model)
	if strings.ContainsAny(t.Model, "/\\\x00") {
		c.fail(field+".model", "'%s' is not the name of a model", t.Model)
	}
}

func (c *checker) text(field, s string) {
	if len(s) > maxText {
		c.fail(field, "it has %d bytes, more than %d", len(s), maxText)
	}
}

func (c *checker) match(field string, m *Match) {
	c.text(field+".name", m.Name)
	if (m.Header == "") == (m.Parameter == "") {
		c.fail(field, "set either header or parameter")
	}
	c.header(field+".header", m.Header)
	c.text(field+".parameter", m.Parameter)
	set := 0
	for _, p := range []*string{m.Exact, m.Prefix, m.Regex} {
		if p != nil {
			set++
			c.text(field, *p)
		}
	}
	if set > 1 {
		c.fail(field, "set only one of exact, prefix and regex")
	}
	if m.Regex != nil {
		if _, err := regexp.Compile(*m.Regex); err != nil {
			c.fail(field+".regex", "%v", err)
		}
	}
	c.target(field+".to", m.To)
}

func (c *checker) header(field, name string) {
	c.text(field, name)
	if name != "" && !httpguts.ValidHeaderFieldName(name) {
		c.fail(field, "'%s' is not the name of a header", name)
	}
}

func (c *checker) weights(all []Weight) {
	sum := 0.0
	seen := map[Target]int{}
	for i, w := range all {
		field := fmt.Sprintf("weights[%d]", i)
		c.target(field, w.Target)
		c.number(field+".weight", w.Weight, 0, 1e9)
		t := w.Of(c.name)
		if first, ok := seen[t]; ok {
			c.fail(field, "it has the same target as weights[%d]", first)
		}
		seen[t] = i
		sum += w.Weight
	}
	if len(all) > 0 && sum == 0 {
		c.fail("weights", "all weights are 0")
	}
}

func (c *checker) sticky(s *Sticky) {
	set := 0
	for _, is := range []bool{s.Header != "", s.Parameter != "", s.CorrelationID} {
		if is {
			set++
		}
	}
	if set != 1 {
		c.fail("sticky", "set one of header, parameter and correlation_id")
	}
	c.header("sticky.header", s.Header)
	c.text("sticky.parameter", s.Parameter)
}

func (c *checker) canary(k *Canary) {
	c.target("canary", k.Target)
	c.target("canary.stable", k.Stable)
	if k.Of(c.name) == k.Stable.Of(c.name) {
		c.fail("canary.stable", "it is the same as the canary: set a version or a model")
	}
	if len(k.Steps) > maxSteps {
		c.fail("canary.steps", "there are %d steps, more than %d", len(k.Steps), maxSteps)
	}
	last := 0.0
	for i, s := range k.Steps {
		field := fmt.Sprintf("canary.steps[%d]", i)
		c.number(field, s, 0, 100)
		if s <= last {
			c.fail(field, "steps grow from above 0 to at most 100, in percent")
		}
		last = s
	}
	c.number("canary.step_seconds", k.StepSeconds, 0, maxSeconds)
	if k.MinSamples < 0 {
		c.fail("canary.min_samples", "%d is less than 0", k.MinSamples)
	}
	c.number("canary.significance", k.Significance, 0, 0.5)
	c.number("canary.max_error_increase", k.ErrorIncrease(), 0, 1)
	if k.MaxP99Ratio != 0 {
		c.number("canary.max_p99_ratio", k.MaxP99Ratio, 1, 1e6)
	}
}

func (c *checker) shadow(s *Shadow) {
	c.target("shadow", s.Target)
	if s.Of(c.name) == (Target{Model: c.name}) {
		c.fail("shadow", "it is the newest version of the model itself: set a version or a model")
	}
	c.number("shadow.percent", s.Percent, 0, 100)
	if s.MaxPending < 0 || s.MaxPending > 1<<16 {
		c.fail("shadow.max_pending", "%d is not from 0 to %d", s.MaxPending, 1<<16)
	}
	if s.MaxBytes < 0 {
		c.fail("shadow.max_bytes", "%d is less than 0", s.MaxBytes)
	}
	c.number("shadow.timeout_seconds", s.TimeoutSeconds, 0, maxSeconds)
	for name, t := range s.Tolerances {
		field := "shadow.tolerances." + name
		if _, ok := tolerances[name]; !ok {
			c.fail(field, "only FP64, FP32, FP16 and BF16 have a tolerance")
		}
		c.number(field+".rtol", t.RTol, 0, math.MaxFloat64)
		c.number(field+".atol", t.ATol, 0, math.MaxFloat64)
	}
	if n := s.KeptDiffs(); n < 0 || n > maxDiffs {
		c.fail("shadow.diffs", "%d is not from 0 to %d", n, maxDiffs)
	}
}

func (c *checker) number(field string, v, low, high float64) {
	if !(v >= low && v <= high) {
		c.fail(field, "%v is not from %v to %v", v, low, high)
	}
}
