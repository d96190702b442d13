package process

import (
	"errors"
	"fmt"
)

// Exit codes that commands share. A command with more codes lists them in its
// package; docs/adr/0016-command-line.md has all of them.
const (
	OK      = 0
	Failure = 1
	Usage   = 2
)

// ExitError is an error with the exit code of the process. With a nil Err nothing is
// printed: the command has reported the reason itself.
type ExitError struct {
	Code int
	Err  error
}

// Error returns the text of Err; empty if Err is nil.
func (e *ExitError) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

// Unwrap returns Err.
func (e *ExitError) Unwrap() error { return e.Err }

// UsageError returns the error of a wrong command line.
func UsageError(format string, args ...any) error {
	return &ExitError{Usage, fmt.Errorf(format, args...)}
}

// ExitCode prints the error that a command returned and returns the exit code of
// the process: that of an ExitError, else Failure.
func (p Process) ExitCode(err error) int {
	if err == nil {
		return OK
	}
	if text := err.Error(); text != "" {
		fmt.Fprintln(p.Stderr, "triton: "+text)
	}
	var exit *ExitError
	if errors.As(err, &exit) {
		return exit.Code
	}
	return Failure
}
