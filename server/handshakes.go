package server

import (
	"context"
	"net"
	"sync"
	"time"
)

// handshakeGrace is how long connections may take to complete their handshake once a
// drain has begun. gRPC alone would wait two minutes, whatever the exit timeout, for a
// client that connects and sends nothing.
const handshakeGrace = time.Second

// handshakes tracks the connections that have been accepted and whose handshake has not
// ended. gRPC sets a deadline on a connection before the handshake and removes it
// afterwards; that removal marks its end.
type handshakes struct {
	mu       sync.Mutex
	conns    map[net.Conn]struct{}
	deadline time.Time     // deadline of all handshakes; zero: no drain
	done     chan struct{} // closed when a drain has no handshakes left
}

func (h *handshakes) begin(c net.Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.conns == nil {
		h.conns = map[net.Conn]struct{}{}
	}
	h.conns[c] = struct{}{}
}

// end removes a connection that is open or closed.
func (h *handshakes) end(c net.Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.conns, c)
	h.signal()
}

// signal closes done if no handshake is left. The caller holds h.mu.
func (h *handshakes) signal() {
	if h.done != nil && len(h.conns) == 0 {
		close(h.done)
		h.done = nil
	}
}

// setDeadline sets the deadline of a connection. During a drain no handshake gets more
// than the grace.
func (h *handshakes) setDeadline(c net.Conn, t time.Time) error {
	if t.IsZero() {
		h.end(c)
		return c.SetDeadline(t)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, in := h.conns[c]; in && !h.deadline.IsZero() && t.After(h.deadline) {
		t = h.deadline
	}
	return c.SetDeadline(t)
}

// finish waits for the handshakes to end, at most grace.
func (h *handshakes) finish(ctx context.Context, grace time.Duration) {
	h.mu.Lock()
	h.deadline = time.Now().Add(grace)
	for c := range h.conns {
		_ = c.SetDeadline(h.deadline) // fails only if the connection is closed already
	}
	none := make(chan struct{})
	h.done = none
	h.signal()
	h.mu.Unlock()
	select {
	case <-none:
	case <-ctx.Done():
	}
}
