package repo

import "fmt"

// Severity says how bad a finding is.
type Severity uint8

// The severities. A model with an error does not load, or answers wrongly; one
// with a warning loads and does not do what was probably meant; a note is
// advice.
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

// ParseSeverity reads a severity's name.
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

// Rule is one kind of mistake that is looked for.
type Rule struct {
	ID       string   `json:"id"` // does not change
	Severity Severity `json:"severity"`
	Doc      string   `json:"doc"` // one line: how it should be
}

// Finding is one thing to correct.
type Finding struct {
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	Model    string   `json:"model"`
	File     string   `json:"file"`
	Line     int      `json:"line,omitempty"` // 0 when it is not about a place in the file
	Col      int      `json:"column,omitempty"`
	Msg      string   `json:"message"`
	Hint     string   `json:"hint,omitempty"`
}
