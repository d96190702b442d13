package grpcapi

import (
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"triton/server/connlimit"
)

// stepTime is the time limit for one step of a message. A slow client gets the smallest
// steps, so it must send at least firstStep bytes in that time.
const stepTime = 2 * time.Minute

// fastStep is the time limit of steps that are followed by a larger one, at most nine times
// as large. The larger step arrives within stepTime even if the client becomes fourteen
// times slower meanwhile.
const fastStep = stepTime / 128

// A pace ticks each time a part of stepTime has passed, so a connection is closed
// stepTime to stepTime+tick after a step began.
const (
	ticks = 2
	tick  = stepTime / ticks
)

// pace closes a connection if a step of any of its messages takes too long: a client
// that sends most of a message and then nothing would hold its charge for ever. gRPC
// cannot end the one call, as a read ends only with its stream.
//
// Every message is counted, so a step must be cheap: it costs two additions. A step is
// counted in the ring entry of the tick in which it began. If it is still counted there
// `ticks` whole ticks later, it has taken too long.
type pace struct {
	conn net.Conn // nil: there are no limits
	use  *connlimit.Conn
	log  *slog.Logger

	tick    atomic.Uint32 // the current one
	waiting [ticks + 2]atomic.Int32
	running atomic.Bool // a timer will call check
}

// begin counts a step that has begun. The result is passed to end.
func (p *pace) begin() uint32 {
	if p.conn == nil {
		return 0
	}
	now := p.tick.Load()
	p.stepsOf(now).Add(1)
	if !p.running.Load() {
		p.start()
	}
	return now
}

// end counts a step that has arrived or failed.
func (p *pace) end(begun uint32) {
	if p.conn != nil {
		p.stepsOf(begun).Add(-1)
	}
}

// stepsOf returns the number of steps that began in a tick and have not ended.
func (p *pace) stepsOf(tick uint32) *atomic.Int32 {
	return &p.waiting[tick%uint32(len(p.waiting))]
}

func (p *pace) start() {
	if p.running.CompareAndSwap(false, true) {
		time.AfterFunc(tick, p.check)
	}
}

// check ends a tick and closes the connection if a step has taken too long.
func (p *pace) check() {
	now := p.tick.Add(1)
	if p.stepsOf(now-ticks-1).Load() > 0 {
		if p.log != nil {
			p.log.Warn("closing a gRPC connection: a message arrives too slowly", "client", p.conn.RemoteAddr(), "after", stepTime)
		}
		p.use.Late()
		p.conn.Close()
		return
	}
	if p.idle() {
		p.running.Store(false)
		if p.idle() { // a step that began in between may have seen the timer running
			return
		}
		p.start()
		return
	}
	time.AfterFunc(tick, p.check)
}

// Stop implements memory.Sender: it closes the connection, because a read ends only with its stream.
func (c *connBudget) Stop() {
	if p := &c.pace; p.conn != nil {
		go func() {
			if p.log != nil {
				p.log.Warn("closing a gRPC connection: a message arrives slowly, and its memory is needed", "client", p.conn.RemoteAddr())
			}
			p.conn.Close()
		}()
	}
}

func (p *pace) idle() bool {
	for i := range p.waiting {
		if p.waiting[i].Load() > 0 {
			return false
		}
	}
	return true
}
