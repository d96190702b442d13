package repo

import (
	"cmp"
	"fmt"
)

// Severity is the severity of a finding.
type Severity uint8

// The severities. A model with an error does not load, or answers wrongly; one with a
// warning loads but probably not as intended; a note is advice.
const (
	Note Severity = iota
	Warning
	Error
)

var severities = [...]string{Note: "note", Warning: "warning", Error: "error"}

// String returns the name of the severity.
func (s Severity) String() string {
	if int(s) < len(severities) {
		return severities[s]
	}
	return fmt.Sprintf("Severity(%d)", uint8(s))
}

// ParseSeverity parses a severity's name.
func ParseSeverity(name string) (Severity, error) {
	for s, n := range severities {
		if n == name {
			return Severity(s), nil
		}
	}
	return 0, fmt.Errorf("unknown severity %q: use note, warning or error", name)
}

// MarshalText returns the name of the severity.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Rule is one kind of mistake that the linter checks for.
type Rule struct {
	ID       string   `json:"id"` // does not change
	Severity Severity `json:"severity"`
	Doc      string   `json:"doc"` // one line: the correct state
}

// Finding is one mistake.
type Finding struct {
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	Model    string   `json:"model"`
	File     string   `json:"file"`
	// Field is the path of the field in the configuration, such as "input[0].dims"; empty if the
	// finding is not about a field.
	Field string `json:"field,omitempty"`
	Line  int    `json:"line,omitempty"` // 0 if it is not about a line of the file
	Col   int    `json:"column,omitempty"`
	Msg   string `json:"message"`
	Hint  string `json:"hint,omitempty"`
}

// Compare orders findings by file, line and rule.
func Compare(a, b Finding) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col),
		cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Msg, b.Msg))
}
