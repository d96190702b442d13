package http2

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/keepalive"

	"triton/pkg/h2frame"
)

// life is how long a connection may live, and how its client proves that it is there. Except for lastRead it is
// used with conn.mu.
type life struct {
	lastRead atomic.Int64 // of clock
	timers   []*time.Timer

	// A header list, or a frame without data, that is not there as a whole.
	partial *time.Timer
	waiting bool // partial runs

	// Pings of this side.
	seen    int64 // lastRead when the timer ran last
	pinging bool
	left    time.Duration // for the answer

	// Pings of the client.
	sent     bool // something was sent since the last one
	strikes  int
	lastPing time.Time

	idleSince time.Time // zero: there are calls
	draining  bool
	last      bool // the client knows the last call
	lastID    uint32
}

var epoch = time.Now()

func clock() int64 { return int64(time.Since(epoch)) }

var (
	errDrained   = errors.New("the connection has ended after its last call")
	errLateFrame = fmt.Errorf("headers have not ended after %v", frameTime)
	errGrace     = errors.New("the connection has reached its maximum age")
)

// read notes that something was read.
func (l *life) read() { l.lastRead.Store(clock()) }

// drainPing is the ping behind the first GOAWAY, with the bytes of all servers of gRPC. A client that answers it knows
// of that.
var drainPing = [8]byte{1, 6, 1, 8, 0, 3, 3, 9}

const (
	// drainTime is how long a client may take to answer drainPing.
	drainTime = 5 * time.Second
	// lingerTime is how long a connection that the server ends waits for the client to end it, too.
	lingerTime = time.Second
)

// startLife begins to watch the time.
func (c *conn) startLife() {
	k := &c.opts.Keepalive
	c.mu.Lock()
	defer c.mu.Unlock()
	l := &c.life
	l.idleSince = time.Now()
	l.read()
	l.seen = l.lastRead.Load()
	c.after(k.Time, c.keepAlive)
	if k.MaxConnectionIdle < forever {
		c.after(k.MaxConnectionIdle, c.endIdle)
	}
	if k.MaxConnectionAge < forever {
		age := k.MaxConnectionAge
		age += time.Duration((rand.Float64()*2 - 1) * float64(age) / 10) //nolint:gosec // spreads the ends
		c.after(age, c.endOld)
	}
}

// after calls f with mu when a time has passed, unless the connection has ended. What f returns is when to call it
// again; 0: never.
func (c *conn) after(d time.Duration, f func() time.Duration) {
	if c.err != nil {
		return
	}
	var t *time.Timer
	t = time.AfterFunc(d, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.err != nil {
			return
		}
		if next := f(); next > 0 {
			t.Reset(next)
		}
	})
	c.life.timers = append(c.life.timers, t)
}

func (l *life) stop() {
	for _, t := range l.timers {
		t.Stop()
	}
	if l.partial != nil {
		l.partial.Stop()
	}
}

// keepAlive pings a client that is silent, and ends the connection if it does not answer.
func (c *conn) keepAlive() time.Duration {
	l, k := &c.life, &c.opts.Keepalive
	if read := l.lastRead.Load(); read > l.seen {
		l.seen, l.pinging = read, false
		return max(time.Duration(read-clock())+k.Time, 1)
	}
	if l.pinging && l.left <= 0 {
		c.fail(fmt.Errorf("keepalive ping not acked within timeout %s", k.Timeout))
		return 0
	}
	if !l.pinging {
		l.pinging, l.left = true, k.Timeout
		c.out = h2frame.AppendPing(c.out, 0, [8]byte{})
		c.flush(false)
	}
	d := min(k.Time, l.left)
	l.left -= d
	return d
}

func (c *conn) endIdle() time.Duration {
	l, idle := &c.life, c.opts.Keepalive.MaxConnectionIdle
	if l.idleSince.IsZero() {
		return idle
	}
	if left := idle - time.Since(l.idleSince); left > 0 {
		return left
	}
	c.startDrain("max_idle")
	return 0
}

func (c *conn) endOld() time.Duration {
	c.startDrain("max_age")
	if grace := c.opts.Keepalive.MaxConnectionAgeGrace; grace < forever {
		c.after(grace, func() time.Duration {
			c.fail(errGrace)
			return 0
		})
	}
	return 0
}

// busy notes that there are calls.
func (l *life) busy() { l.idleSince = time.Time{} }

// ended notes that a call has ended.
func (l *life) ended(c *conn) {
	if len(c.streams) == 0 && c.opts.Keepalive.MaxConnectionIdle < forever {
		l.idleSince = time.Now()
	}
}

// drain asks the client to use another connection. Calls that it sends before it knows are answered.
func (c *conn) drain(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.startDrain(reason)
}

func (c *conn) startDrain(reason string) {
	if c.life.draining || c.err != nil || c.life.lastRead.Load() == 0 { // serve looks again when it is open
		return
	}
	c.life.draining = true
	c.out = h2frame.AppendGoAway(c.out, h2frame.MaxWindow, http2.ErrCodeNo, reason)
	c.out = h2frame.AppendPing(c.out, 0, drainPing)
	c.after(drainTime, func() time.Duration {
		c.drained()
		return 0
	})
	c.flush(false)
}

// drained tells the client which call is the last.
func (c *conn) drained() {
	l := &c.life
	if !l.draining || l.last {
		return
	}
	l.last, l.lastID = true, c.lastID
	c.out = h2frame.AppendGoAway(c.out, l.lastID, http2.ErrCodeNo, "")
	c.flush(false)
}

// refuses reports whether a call came after the last one.
func (l *life) refuses(id uint32) bool { return l.last && id > l.lastID }

// maxStrikes is how many pings too early a client may send.
const maxStrikes = 2

// permittedIdle is how often a client without calls may ping.
const permittedIdle = 2 * time.Hour

// pinged counts a ping of the client.
func (l *life) pinged(calls bool, p *keepalive.EnforcementPolicy) error {
	now := time.Now()
	defer func() { l.lastPing = now }()
	if l.sent {
		l.sent, l.strikes = false, 0
		return nil
	}
	least := p.MinTime
	if !calls && !p.PermitWithoutStream {
		least = permittedIdle
	}
	if l.lastPing.Add(least).After(now) {
		if l.strikes++; l.strikes > maxStrikes {
			return violation(http2.ErrCodeEnhanceYourCalm, "too_many_pings")
		}
	}
	return nil
}

// frame notes whether a frame is not there as a whole.
func (l *life) frame(c *conn, partial, progress bool) {
	switch {
	case l.waiting && (progress || !partial):
		l.waiting = false
		l.partial.Stop()
		if !partial {
			return
		}
	case !partial, l.waiting, c.err != nil:
		return
	}
	l.waiting = true
	if l.partial != nil {
		l.partial.Reset(frameTime)
		return
	}
	l.partial = time.AfterFunc(frameTime, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if l.waiting {
			c.late()
			c.fail(errLateFrame)
		}
	})
}

// late counts a connection that is closed because its client is slow.
func (c *conn) late() {
	if c.use != nil {
		c.use.Late()
	}
}
