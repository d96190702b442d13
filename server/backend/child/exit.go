package child

import (
	"fmt"
	"strings"
	"syscall"

	"triton/server/backend"
)

// Exit is the error of a child that has ended. It is backend.ErrBroken.
type Exit struct {
	Code   int            // the exit code; -1 after a signal
	Signal syscall.Signal // the signal that ended it; 0: none
	// Reason is the fault of the child for which this process killed it; empty if it had
	// none.
	Reason string
	// Stderr is the last lines that the child wrote to its standard error.
	Stderr []string
}

// Error names the exit code or the signal, and the reason.
func (e *Exit) Error() string {
	text := fmt.Sprintf("the process exited with code %d", e.Code)
	if e.Signal != 0 {
		text = fmt.Sprintf("the process was ended by signal %d (%s)", int(e.Signal), e.Signal)
	}
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// Output returns the last lines of the standard error as one text.
func (e *Exit) Output() string { return strings.Join(e.Stderr, "\n") }

// Unwrap returns backend.ErrBroken.
func (e *Exit) Unwrap() error { return backend.ErrBroken }
