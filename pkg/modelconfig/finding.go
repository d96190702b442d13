package modelconfig

import (
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
