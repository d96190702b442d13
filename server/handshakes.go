package server

import (
	"context"
	"net"
	"sync"
	"time"
)

// handshakeGrace is how long connections that are not open yet may take to open
// once a drain has begun. gRPC alone would wait for two minutes, exit timeout or
// not, for a client that connects and says nothing.
const handshakeGrace = time.Second

// handshakes knows the connections that have been accepted and are not open yet.
// gRPC sets a deadline on a connection before the handshake and removes it
// afterwards, which is how the end of the handshake shows.
type handshakes struct {
	mu    sync.Mutex
	conns map[net.Conn]struct{}
	until time.Time     // when they must have ended; zero: no drain
	none  chan struct{} // closed when there are none, in a drain
}

func (h *handshakes) begin(c net.Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.conns == nil {
		h.conns = map[net.Conn]struct{}{}
	}
	h.conns[c] = struct{}{}
}

// end notes that a connection is open or closed.
func (h *handshakes) end(c net.Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.conns, c)
	h.signal()
}

// signal tells finish when nothing is left. The caller holds h.mu.
func (h *handshakes) signal() {
	if h.none != nil && len(h.conns) == 0 {
		close(h.none)
		h.none = nil
	}
}

// setDeadline is SetDeadline of a connection: no handshake outlasts a drain's
// grace.
func (h *handshakes) setDeadline(c net.Conn, t time.Time) error {
	if t.IsZero() {
		h.end(c)
		return c.SetDeadline(t)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, in := h.conns[c]; in && !h.until.IsZero() && t.After(h.until) {
		t = h.until
	}
	return c.SetDeadline(t)
}

// finish waits for the handshakes to end, for grace at most.
func (h *handshakes) finish(ctx context.Context, grace time.Duration) {
	h.mu.Lock()
	h.until = time.Now().Add(grace)
	for c := range h.conns {
		_ = c.SetDeadline(h.until) // a connection that is closed already is none to wait for
	}
	none := make(chan struct{})
	h.none = none
	h.signal()
	h.mu.Unlock()
	select {
	case <-none:
	case <-ctx.Done():
	}
}
