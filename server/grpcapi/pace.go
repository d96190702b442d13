package grpcapi

import (
	"log/slog"
	"net"
	"sync"
	"time"
)

// stepTime is how long one step of a message may take to arrive. A slow client
// gets the smallest steps, so it must send at least firstStep bytes in that time.
const stepTime = 2 * time.Minute

// swift is how fast a step must arrive for the next one to be larger, which it
// is by seven times at most. So the larger step arrives in stepTime even when the
// client becomes sixteen times slower meanwhile.
const swift = stepTime / 128

// pace closes a connection when a step of any of its messages takes too long: a
// client that sends most of a message and then nothing would hold its charge
// for ever. gRPC has no way to end the one call, as a read ends only with its
// stream.
type pace struct {
	conn net.Conn // nil: there are no limits
	log  *slog.Logger

	mu struct {
		sync.Mutex
		timer *time.Timer // fires at the end of first's step
		// Those that wait for a step, the earliest first.
		first, last *wait
	}
}

// wait is one step that a call waits for.
type wait struct {
	since      time.Time
	next, prev *wait
}

// begin notes that a step is waited for.
func (p *pace) begin(w *wait) {
	if p.conn == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	w.since = time.Now()
	w.prev = p.mu.last
	p.mu.last = w
	if w.prev != nil {
		w.prev.next = w
		return
	}
	p.mu.first = w
	if p.mu.timer == nil {
		p.mu.timer = time.AfterFunc(stepTime, p.check)
	} else {
		p.mu.timer.Reset(stepTime)
	}
}

// end notes that the step has arrived, or will not, and reports whether it was
// swift.
func (p *pace) end(w *wait) bool {
	if p.conn == nil {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.next == nil {
		p.mu.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	if w.prev == nil {
		p.mu.first = w.next
	} else {
		w.prev.next = w.next
	}
	w.next, w.prev = nil, nil
	if p.mu.first == nil {
		p.mu.timer.Stop()
	}
	return time.Since(w.since) <= swift
}

// check closes the connection if the earliest wait has lasted too long.
func (p *pace) check() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.first == nil {
		return
	}
	if left := stepTime - time.Since(p.mu.first.since); left > 0 {
		p.mu.timer.Reset(left)
		return
	}
	if p.log != nil {
		p.log.Warn("closing a gRPC connection: a message arrives too slowly", "client", p.conn.RemoteAddr(), "after", stepTime)
	}
	go p.conn.Close()
}
