package http2

import (
	"time"

	"golang.org/x/net/http2"
)

const (
	// stallTime is how long the client of a unary call may take for the next stallBytes of the response. Without a
	// limit, a client that opens no window would hold its calls, and the memory of their responses, for ever. The
	// responses of a stream may wait longer: their client decides when it needs the next one.
	stallTime  = 2 * time.Minute
	stallBytes = 64 << 10
)

// stall is the time of a response that waits for the client.
type stall struct {
	end  time.Time
	left int // bytes of the message when the time began
}

// waitToSend waits until the window has changed, or another goroutine has written. left is the rest of the message.
// The caller holds mu.
func (s *stream) waitToSend(w *stall, left int) {
	c, id := s.conn, s.id
	c.senders = append(c.senders, s)
	s.sender.arm()
	if !s.head.rpc.unary() {
		s.sender.wait(&c.mu)
		return
	}
	now := time.Now()
	if w.end.IsZero() || w.left-left >= stallBytes {
		w.end, w.left = now.Add(stallTime), left
	}
	waits := true
	late := time.AfterFunc(w.end.Sub(now), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if waits && c.streams[id] == s {
			c.late()
			c.abort(s, http2.ErrCodeCancel)
			c.flush(false)
		}
	})
	s.sender.wait(&c.mu)
	waits = false
	late.Stop()
}
