package scenario

import (
	"fmt"
	"strings"
)

// Parse reads one file.
func Parse(name, text string) (*Suite, error) {
	p := parser{suite: &Suite{Name: name, Needs: map[string]string{}}}
	for line := range strings.Lines(text) {
		p.line++
		if err := p.parseLine(strings.TrimRight(line, "\n")); err != nil {
			return nil, fmt.Errorf("%s.txt:%d: %w", name, p.line, err)
		}
	}
	return p.suite, nil
}

type parser struct {
	suite *Suite
	line  int
}

func (p *parser) parseLine(text string) error {
	if text == "" {
		return nil
	}
	if name, ok := strings.CutPrefix(text, "## "); ok {
		p.suite.Scenarios = append(p.suite.Scenarios, &Scenario{Name: name, Line: p.line})
		return nil
	}
	if len(p.suite.Scenarios) == 0 {
		key, value, ok := strings.Cut(text, ": ")
		if !ok {
			return fmt.Errorf("%q comes before the first scenario and is not \"key: value\"", text)
		}
		p.suite.Needs[key] = value
		return nil
	}
	return p.suite.Scenarios[len(p.suite.Scenarios)-1].parseLine(text)
}

func (s *Scenario) parseLine(text string) error {
	mark, rest, _ := strings.Cut(text, " ")
	switch mark {
	case "model":
		m, err := parseModel(rest)
		s.Models = append(s.Models, m)
		return err
	case "": // indented
		if len(s.Models) == 0 {
			return fmt.Errorf("%q belongs to no model", text)
		}
		s.Models[len(s.Models)-1].Config += strings.TrimPrefix(text, "  ") + "\n"
	case ">":
		e, err := parseEvent(rest)
		s.Events = append(s.Events, e)
		return err
	case "<":
		s.NVIDIA = append(s.NVIDIA, rest)
	case "!":
		s.Reasons = append(s.Reasons, rest)
	case "=":
		s.Ours = append(s.Ours, rest)
	default:
		return fmt.Errorf("a line begins with one of ## model > < ! = or is indented: %q", text)
	}
	return nil
}

// Format writes a suite in the form that Parse reads.
func Format(s *Suite, head string) string {
	var b strings.Builder
	b.WriteString(head)
	for _, c := range s.Scenarios {
		b.WriteString("\n## " + c.Name + "\n")
		c.format(&b)
	}
	return b.String()
}

func (s *Scenario) format(b *strings.Builder) {
	for _, m := range s.Models {
		b.WriteString("model " + m.head + "\n")
		for line := range strings.Lines(m.Config) {
			b.WriteString("  " + line)
		}
	}
	for _, e := range s.Events {
		b.WriteString("> " + e.text + "\n")
	}
	for _, line := range s.NVIDIA {
		b.WriteString("< " + line + "\n")
	}
	for _, why := range s.Reasons {
		b.WriteString("! " + why + "\n")
	}
	for _, line := range s.Ours {
		b.WriteString("= " + line + "\n")
	}
}

// Head returns the lines of a file before its first scenario.
func Head(text string) string {
	head, _, found := strings.Cut(text, "\n## ")
	if !found || strings.HasPrefix(text, "## ") {
		return ""
	}
	return strings.TrimRight(head, "\n") + "\n"
}
