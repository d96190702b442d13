package child

import (
	"errors"
	"slices"
	"sync"
)

// maxWaiting bounds how many bytes wait for a child that does not read. Senders that may wait
// leave half of it to those that may not.
const maxWaiting = 64 << 20

var errFull = errors.New("it does not read its event channel")

// outbox sends frames in order. A frame that the pipe takes at once is sent by its sender;
// frames that wait are sent by a goroutine.
type outbox struct {
	conn    *Conn
	attempt attempt
	writing sync.WaitGroup

	mu struct {
		sync.Mutex
		buf    []byte     // frames that wait
		busy   bool       // a sender or the goroutine writes
		closed bool       // frames are dropped
		room   *sync.Cond // buf was taken, or busy or closed has changed
	}
}

func (o *outbox) init(c *Conn) {
	o.conn = c
	o.attempt.init(c.to)
	o.mu.room = sync.NewCond(&o.mu)
}

// post queues a frame. When too much waits, it waits for room if it may; otherwise it fails.
func (o *outbox) post(m *Message, mayWait bool) error {
	if err := m.finish(); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for mayWait && o.mu.busy && len(o.mu.buf)+len(m.buf) > maxWaiting/2 && !o.mu.closed {
		o.mu.room.Wait()
	}
	if o.mu.closed {
		return nil
	}
	if o.mu.busy {
		if len(o.mu.buf)+len(m.buf) > maxWaiting {
			o.shut()
			return errFull
		}
		o.mu.buf = append(o.mu.buf, m.buf...)
		return nil
	}
	o.mu.busy = true
	o.mu.Unlock()
	n := o.attempt.try(m.buf)
	o.mu.Lock()
	if n < len(m.buf) {
		o.mu.buf = slices.Concat(m.buf[n:], o.mu.buf)
	}
	if o.mu.busy = len(o.mu.buf) > 0 && !o.mu.closed; o.mu.busy {
		o.writing.Go(o.write)
	} else {
		o.mu.room.Broadcast()
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
		o.mu.room.Broadcast()
		o.mu.Unlock()
		if len(b) == 0 {
			return
		}
		if _, err := o.conn.out.Write(b); err != nil {
			o.mu.Lock()
			o.shut() // the child has ended
			o.mu.Unlock()
		}
	}
}

// shut drops frames from now on. The caller holds the lock.
func (o *outbox) shut() {
	o.mu.closed, o.mu.buf = true, nil
	o.mu.room.Broadcast()
}

// flush waits until nothing waits.
func (o *outbox) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.mu.busy && !o.mu.closed {
		o.mu.room.Wait()
	}
}

// close is called when the connection is closed. It waits for the goroutine.
func (o *outbox) close() {
	o.mu.Lock()
	o.shut()
	o.mu.Unlock()
	o.writing.Wait()
}
