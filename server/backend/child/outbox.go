package child

import (
	"errors"
	"slices"
	"sync"
)

// maxWaiting bounds how many bytes wait for a child that does not read. Tensors are not in
// frames, so a child that reads never comes near it.
const maxWaiting = 64 << 20

var errFull = errors.New("it does not read its event socket")

// outbox sends frames in order without making their senders wait. A frame that the socket
// takes at once is sent by its sender. While others wait it has a goroutine.
type outbox struct {
	conn    *Conn
	writing sync.WaitGroup

	mu struct {
		sync.Mutex
		buf    []byte // frames that wait
		busy   bool   // a sender or the goroutine writes
		closed bool
	}
}

// post queues a frame.
func (o *outbox) post(m *Message) error {
	if err := m.finish(); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mu.closed {
		return nil
	}
	if o.mu.busy {
		if len(o.mu.buf)+len(m.buf) > maxWaiting {
			o.mu.closed, o.mu.buf = true, nil
			return errFull
		}
		o.mu.buf = append(o.mu.buf, m.buf...)
		return nil
	}
	o.mu.busy = true
	o.mu.Unlock()
	n := o.try(m.buf)
	o.mu.Lock()
	if n < len(m.buf) {
		o.mu.buf = slices.Concat(m.buf[n:], o.mu.buf)
	}
	if o.mu.busy = len(o.mu.buf) > 0 && !o.mu.closed; o.mu.busy {
		o.writing.Go(o.write)
	}
	return nil
}

// write sends what waits.
func (o *outbox) write() {
	for {
		o.mu.Lock()
		b := o.mu.buf
		o.mu.buf = nil
		o.mu.busy = len(b) > 0
		o.mu.Unlock()
		if len(b) == 0 {
			return
		}
		if _, err := o.conn.conn.Write(b); err != nil {
			o.shut() // the child has ended
		}
	}
}

// shut drops frames from now on.
func (o *outbox) shut() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.closed, o.mu.buf = true, nil
}

// close is called when the connection is closed. It waits for the goroutine.
func (o *outbox) close() {
	o.shut()
	o.writing.Wait()
}
