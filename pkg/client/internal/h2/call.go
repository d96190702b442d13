package h2

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
	grpcstatus "google.golang.org/grpc/status"

	"triton/pkg/h2frame"
)

// Request is how a call begins.
type Request struct {
	Head    *Head
	Timeout time.Duration // that the server learns; 0: none
	// Discard drops the bytes of responses that are not compressed, and counts only the messages.
	Discard bool
	// Stream wakes Wait at each message, not only at the end.
	Stream bool
}

// Outgoing is a message to send: the parts, joined. They must not change before all is sent.
type Outgoing struct {
	Parts      [][]byte // nil: no message
	Compressed bool
	Last       bool // no other message follows
}

// Message is a message that a call has received.
type Message struct {
	End        int   // in Inbox.Data, where it follows the message before it
	Time       int64 // when it was complete
	Compressed bool
}

// Inbox holds messages of a call.
type Inbox struct {
	Data     []byte
	Messages []Message
}

// Call is a call at a time: a lane uses it for all of its calls, one after the other. One goroutine uses it,
// but for Interrupt.
type Call struct {
	signal      chan struct{} // something has changed
	conn        atomic.Pointer[Conn]
	interrupted atomic.Bool
	ended       atomic.Bool
	scratch     [][]byte
	head        [prefixLen]byte

	// The mutex of the connection guards these. Those of the result may be read once the call has ended.
	id         uint32
	err        error
	endedAt    int64
	window     int64
	parts      [][]byte // what is left of the message to send
	left       int      // bytes of them
	last       bool
	halfClosed bool
	receives   int64
	unacked    int

	begun    bool // the header of the response is there
	encoding string
	foreign  *grpcstatus.Status // of a response that is not gRPC
	inbox    Inbox
	prefix   [prefixLen]byte
	prefixed int // bytes of prefix
	missing  int // bytes of the message
	store    bool
	discard  bool
	notify   bool
}

// NewCall returns a call that has not begun.
func NewCall() *Call { return &Call{signal: make(chan struct{}, 1)} }

func (c *Call) wake() {
	select {
	case c.signal <- struct{}{}:
	default:
	}
}

// Wait waits until something has changed.
func (c *Call) Wait() { <-c.signal }

// Ended reports whether the call has ended. Then Err and EndedAt have its result.
func (c *Call) Ended() bool { return c.ended.Load() }

// Err returns the error of a call that has ended.
func (c *Call) Err() error { return c.err }

// EndedAt returns when the call ended.
func (c *Call) EndedAt() int64 { return c.endedAt }

// Encoding returns the compression of the messages of a call that has ended, or whose messages were taken.
func (c *Call) Encoding() string { return c.encoding }

func (c *Call) foreignError() error {
	return grpcstatus.Error(c.foreign.Code(), fmt.Sprintf("%s\ndata: %q", c.foreign.Message(), c.inbox.Data))
}

// Start begins a call on a connection, and queues as much of its first message as the server takes at once.
// It waits while the server has as many calls as it allows. After an error nothing was sent.
func (c *Call) Start(conn *Conn, r *Request, first Outgoing) error {
	c.conn.Store(conn)
	conn.mu.Lock()
	for {
		if err := c.refused(conn, r); err != nil {
			conn.mu.Unlock()
			return err
		}
		if uint64(len(conn.calls)) < uint64(conn.maxStreams) {
			break
		}
		conn.waiting = append(conn.waiting, c)
		conn.mu.Unlock()
		c.Wait()
		conn.mu.Lock()
	}
	c.id = conn.nextID
	conn.nextID += 2
	conn.draining = conn.draining || conn.nextID > h2frame.MaxWindow-2 // there are no more numbers
	conn.calls[c.id] = c
	c.err, c.halfClosed, c.begun, c.foreign, c.encoding = nil, false, false, nil, ""
	c.window, c.receives, c.unacked = conn.initial, streamWindow, 0
	c.inbox.Data, c.inbox.Messages = c.inbox.Data[:0], c.inbox.Messages[:0]
	c.prefixed, c.missing, c.discard, c.notify = 0, 0, r.Discard, r.Stream
	c.ended.Store(false)
	conn.appendHead(r.Head, c.id, r.Timeout)
	c.queue(conn, first)
	return nil
}

// refused returns why a call cannot start. The caller holds the mutex of the connection.
func (c *Call) refused(conn *Conn, r *Request) error {
	switch {
	case errors.Is(conn.err, ErrClosed) || c.interrupted.Load():
		return errInterrupted
	case conn.err != nil || conn.draining:
		return unprocessed{conn.lost(errDrained)}
	case r.Head.size > conn.maxList:
		return internalError("header list size to send violates the maximum size (%d bytes) set by server", conn.maxList)
	}
	return nil
}

// Send queues the next message after the one before was sent, see Pump.
func (c *Call) Send(m Outgoing) {
	conn := c.conn.Load()
	conn.mu.Lock()
	if c.ended.Load() {
		conn.mu.Unlock()
		return
	}
	c.queue(conn, m)
}

// queue releases the mutex of the connection.
func (c *Call) queue(conn *Conn, m Outgoing) {
	if conn.awaited > 0 {
		conn.awaited--
	}
	if m.Parts == nil {
		c.left, c.last = 0, m.Last
		if m.Last {
			conn.closeSend(c)
		}
		conn.flush()
		return
	}
	size := 0
	for _, p := range m.Parts {
		size += len(p)
	}
	c.head[0] = 0
	if m.Compressed {
		c.head[0] = 1
	}
	binary.BigEndian.PutUint32(c.head[1:], uint32(size))
	c.scratch = append(append(c.scratch[:0], c.head[:]), m.Parts...)
	c.parts, c.left, c.last = c.scratch, prefixLen+size, m.Last
	conn.pump(c)
	conn.flush()
}

// Pump queues more of the message and reports whether all of it is sent, or nothing can be sent any more.
// Otherwise the caller waits.
func (c *Call) Pump() bool {
	conn := c.conn.Load()
	for c.left > 0 {
		if c.ended.Load() {
			c.left = 0
			return true
		}
		conn.mu.Lock()
		progress := conn.calls[c.id] == c && conn.pump(c)
		conn.flush()
		if !progress && c.left > 0 {
			return c.ended.Load()
		}
	}
	return true
}

// CloseSend says that no other message follows those that were sent.
func (c *Call) CloseSend() {
	conn := c.conn.Load()
	conn.mu.Lock()
	if conn.calls[c.id] == c && !c.halfClosed {
		conn.closeSend(c)
	}
	conn.flush()
}

// Take moves the messages that are complete into in, whose memory the call uses from now on.
func (c *Call) Take(in *Inbox) {
	conn := c.conn.Load()
	conn.mu.Lock()
	in.Data, in.Messages = in.Data[:0], in.Messages[:0]
	if n := len(c.inbox.Messages); n > 0 {
		*in, c.inbox = c.inbox, *in
		end := in.Messages[n-1].End
		c.inbox.Data = append(c.inbox.Data, in.Data[end:]...) // the begin of the next one
		in.Data = in.Data[:end]
		if conn.calls[c.id] == c {
			conn.acknowledgeCall(c)
		}
	}
	conn.flush()
}

// Draining reports whether the server wants no more of the connection.
func (c *Call) Draining() bool { return !c.conn.Load().Usable() }

// Interrupt ends the call, and those that start until Resume. Any goroutine may call it.
func (c *Call) Interrupt() {
	c.interrupted.Store(true)
	c.Cancel()
	c.wake()
}

// Resume lets calls start again. The caller sees to it that Interrupt has returned.
func (c *Call) Resume() { c.interrupted.Store(false) }

// Cancel ends the call if it has not ended.
func (c *Call) Cancel() {
	conn := c.conn.Load()
	if conn == nil {
		return
	}
	conn.mu.Lock()
	for _, call := range conn.calls {
		if call == c {
			conn.abandon(c, http2.ErrCodeCancel, errInterrupted)
			break
		}
	}
	conn.flush()
}
