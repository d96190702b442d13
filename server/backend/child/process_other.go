//go:build !linux

package child

import (
	"errors"
	"time"
)

// Process is a child that was started.
type Process struct{}

// Start fails: children are supervised with means of Linux.
func Start(Spec) (*Process, error) {
	return nil, errors.New("child processes are supported on Linux only")
}

// Control returns no connection.
func (*Process) Control() *Conn { return nil }

// Post does nothing.
func (*Process) Post(*Message) error { return nil }

// PostWait does nothing.
func (*Process) PostWait(*Message) error { return nil }

// PID returns 0.
func (*Process) PID() int { return 0 }

// Exit returns nil.
func (*Process) Exit() *Exit { return nil }

// Foreground does nothing.
func (*Process) Foreground() {}

// Kill does nothing.
func (*Process) Kill() {}

// Fail does nothing.
func (*Process) Fail(string) {}

// Stop returns nil.
func (*Process) Stop(time.Duration) *Exit { return nil }

// Lost returns nil.
func (*Process) Lost() *Exit { return nil }
