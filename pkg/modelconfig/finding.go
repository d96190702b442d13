package modelconfig

import (
	"errors"
	"fmt"
	"strings"

	"triton/pkg/status"
)

// Finding is one mistake in a configuration.
type Finding struct {
	Rule string // stable id, such as "TRN301"
	Code status.Code
	Path string // field, such as "input[0].dims"
	Pos  Position
	Msg  string // Triton's own text
	Hint string // what to do
}

// Err returns the finding as the error that clients see, with Triton's text alone.
func (f Finding) Err() error { return status.New(f.Code, "%s", f.Msg) }

// FirstError returns the first finding as an error. Triton reports only that one.
func FirstError(fs []Finding) error {
	if len(fs) == 0 {
		return nil
	}
	return fs[0].Err()
}

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

// SyntaxError is one mistake in the text of a configuration.
type SyntaxError struct {
	File string
	Pos  Position
	Msg  string // what is wrong
	Hint string // what to do
}

// Error is "file:line:col: what; what to do".
func (e *SyntaxError) Error() string {
	what := e.Msg
	if e.Hint != "" {
		what = strings.TrimSuffix(what, ".") + "; " + e.Hint
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Pos.Line, e.Pos.Col, what)
}
