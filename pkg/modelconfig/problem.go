package modelconfig

import (
	"errors"
	"fmt"
)

// firstFinding is the first finding about a configuration. Clients get Triton's text;
// the log also shows its position and hint.
type firstFinding struct {
	Finding
	file string
}

// First returns the finding that Triton would report as an error; nil if there is none.
func (c *Config) First(all []Finding) error {
	if len(all) == 0 {
		return nil
	}
	return &firstFinding{all[0], c.File}
}

// Error is Triton's text.
func (p *firstFinding) Error() string { return p.Msg }

// Unwrap returns the client-visible error.
func (p *firstFinding) Unwrap() error { return p.Err() }

// Details returns the attributes that the log shows beside an error from First: its
// position and hint. Other errors have none.
func Details(err error) []any {
	var p *firstFinding
	if !errors.As(err, &p) {
		return nil
	}
	var attrs []any
	if p.file != "" && p.Pos.Line > 0 {
		attrs = append(attrs, "at", fmt.Sprintf("%s:%d:%d", p.file, p.Pos.Line, p.Pos.Col))
	}
	if p.Hint != "" {
		attrs = append(attrs, "hint", p.Hint)
	}
	return attrs
}
