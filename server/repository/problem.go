package repository

import (
	"errors"
	"fmt"

	"triton/pkg/modelconfig"
)

// problem is the first finding about a configuration. Clients see Triton's text
// of it, the log also where it is and what to do.
type problem struct {
	modelconfig.Finding
	file string
}

// first is the finding that Triton would report; nil when there is none.
func first(c *modelconfig.Config, all []modelconfig.Finding) error {
	if len(all) == 0 {
		return nil
	}
	return &problem{all[0], c.File}
}

// Error is Triton's text.
func (p *problem) Error() string { return p.Msg }

// Unwrap is the client-visible error.
func (p *problem) Unwrap() error { return p.Err() }

// details are the attributes that the log shows beside an error's text.
func details(err error) []any {
	var p *problem
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
