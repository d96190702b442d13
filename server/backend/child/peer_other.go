//go:build !linux

package child

import (
	"errors"
	"os"
)

// Peer is the other end of a Process.
type Peer struct{}

// ErrNoParent is the error of a process that was not started as a child.
var ErrNoParent = errors.New("child processes are supported on Linux only")

// Attach fails.
func Attach() (*Peer, error) { return nil, ErrNoParent }

// File returns no file.
func (*Peer) File(int) *os.File { return nil }

// Serve does nothing.
func (*Peer) Serve(func(Frame) error) error { return ErrNoParent }

// Post does nothing.
func (*Peer) Post(*Message) error { return nil }

// PostWait does nothing.
func (*Peer) PostWait(*Message) error { return nil }

// Flush does nothing.
func (*Peer) Flush() {}
