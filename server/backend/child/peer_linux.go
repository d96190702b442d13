package child

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Peer is the other end of a Process, in a child that is written in Go: its event channel.
type Peer struct{ events outbox }

// ErrNoParent is the error of a process that was not started as a child.
var ErrNoParent = errors.New("this program was not started by a server")

// Attach opens the event channel that this process has inherited. It may be called once.
func Attach() (*Peer, error) {
	for fd := ControlFD; fd < FirstFile; fd++ {
		var at unix.Stat_t
		if err := unix.Fstat(fd, &at); err != nil || at.Mode&unix.S_IFMT != unix.S_IFIFO {
			return nil, ErrNoParent
		}
		unix.CloseOnExec(fd)
	}
	for fd := EventFD; fd <= EventFD+1; fd++ {
		if err := unix.SetNonblock(fd, true); err != nil {
			return nil, fmt.Errorf("the event channel: %w", err)
		}
	}
	p := &Peer{}
	p.events.init(NewConn(os.NewFile(EventFD, "event"), os.NewFile(EventFD+1, "event")))
	return p, nil
}

// File returns an inherited file of Spec.Files by its index.
func (*Peer) File(i int) *os.File {
	unix.CloseOnExec(FirstFile + i)
	return os.NewFile(uintptr(FirstFile+i), "inherited")
}

// Serve calls handle with each frame until the parent closes the channel, or until handle
// returns an error.
func (p *Peer) Serve(handle func(Frame) error) error {
	for {
		f, err := p.events.conn.Receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = handle(f)
		}
		if err != nil {
			return err
		}
	}
}

// Post sends a frame, or queues it if the parent does not read. It does not wait. The message
// may be used again.
func (p *Peer) Post(m *Message) error { return p.events.post(m, false) }

// PostWait is Post for a caller that may wait while much is queued.
func (p *Peer) PostWait(m *Message) error { return p.events.post(m, true) }

// Flush waits until all frames are sent.
func (p *Peer) Flush() { p.events.flush() }
