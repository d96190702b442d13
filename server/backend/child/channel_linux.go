package child

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// ends are a child's ends of a channel: what it reads and what it writes.
type ends [2]*os.File

// channel makes the two pipes of a channel and returns our ends, which do not block threads, and
// the child's, which the caller closes. It is no socket pair, because a process that waits at a
// socket for data is also woken when the other one has read what it wrote.
func channel(name string) (ours *Conn, theirs ends, err error) {
	childReads, weWrite, err := pipe(name, 1)
	if err != nil {
		return nil, theirs, err
	}
	weRead, childWrites, err := pipe(name, 0)
	if err != nil {
		return nil, theirs, errors.Join(err, childReads.Close(), weWrite.Close())
	}
	return NewConn(weRead, weWrite), ends{childReads, childWrites}, nil
}

func (e *ends) close() {
	for _, f := range e {
		_ = f.Close() // nothing was written
	}
}

// pipe returns the ends of a pipe; the one with the index ours does not block threads.
func pipe(name string, ours int) (r, w *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, fmt.Errorf("making a pipe for a child: %w", err)
	}
	if err := unix.SetNonblock(fds[ours], true); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("making a pipe for a child: %w", err), unix.Close(fds[0]), unix.Close(fds[1]))
	}
	return os.NewFile(uintptr(fds[0]), name), os.NewFile(uintptr(fds[1]), name), nil
}
