package http2

import "time"

// Calls whose messages have arrived run on the goroutine that reads, one after the other, and their responses leave
// in one write: handing a call to another goroutine and back costs more than many a model. That goroutine has a turn
// then. If a call waits or takes long, another goroutine takes over the reading and the calls that are left, and if
// calls do so on average, the next ones of the connection go to the workers.
const (
	// shortCall is how long a call may take on average so that the next ones have a turn, too, and averageOver over
	// how many turns that is, about.
	shortCall   = 100 * time.Microsecond
	averageOver = 16
	// turnBudget is when the calls that are left go to the workers.
	turnBudget = 200 * time.Microsecond
	// turnTime is when another goroutine takes over.
	turnTime = time.Millisecond
	// maxHeld is how many bytes of responses wait for the end of a turn.
	maxHeld = 32 << 10

	// When calls are too long, leastPenalty of them go to the workers, and each time twice as many as the last
	// time, until they were short for goodTurns turns.
	leastPenalty, maxPenalty = 64, 4096
	goodTurns                = 64
)

// turn is that of the goroutine that reads. It is used with conn.mu.
type turn struct {
	running bool
	number  int       // of turns
	calls   []*stream // that are left
	current *stream
	began   int64 // of clock
	timer   *time.Timer

	average int64 // time of a call
	left    int   // calls that go to the workers
	penalty int
	good    int // turns with short calls
}

// whole reports whether a call can be answered without reading more.
func (s *stream) whole() bool {
	return s.remoteEnd && !s.over && !s.head.plain && (s.head.rpc == nil || s.head.rpc.unary())
}

// startCalls starts the calls that frames have begun. It reports false if another goroutine reads now.
func (c *conn) startCalls() (reads bool) {
	if len(c.ready) == 0 {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &c.turn
	for i, s := range c.ready {
		c.ready[i] = nil
		switch {
		case t.left > 0:
			t.left--
			c.server.run(s)
		case s.whole():
			s.inline = true
			t.calls = append(t.calls, s)
		default:
			c.server.run(s)
		}
	}
	c.ready = c.ready[:0]
	return len(t.calls) == 0 || c.takeTurn()
}

// takeTurn runs the calls of a turn. It reports false if another goroutine reads now. The caller holds mu.
func (c *conn) takeTurn() (reads bool) {
	t := &c.turn
	t.running, t.began = true, c.life.lastRead.Load()
	t.number++
	mine := func(number int) bool { return t.running && t.number == number }
	number := t.number
	t.start(c)
	for n := int64(1); ; n++ {
		s := t.next()
		c.runUnlocked(s)
		switch {
		case !mine(number):
			return false
		case len(t.calls) > 0 && clock()-t.began > int64(turnBudget):
			c.startRest()
		}
		if len(t.calls) > 0 {
			continue
		}
		t.current = nil
		if c.flush(true); !mine(number) { // somebody has taken over meanwhile
			return false
		}
		t.running = false
		t.timer.Stop()
		t.took((clock() - t.began) / n)
		return true
	}
}

// runUnlocked runs a call without mu.
func (c *conn) runUnlocked(s *stream) {
	c.mu.Unlock()
	defer c.mu.Lock() // also after a panic: the caller holds it
	s.run()
}

// start starts the timer of a turn.
func (t *turn) start(c *conn) {
	if t.timer != nil {
		t.timer.Reset(turnTime)
		return
	}
	t.timer = time.AfterFunc(turnTime, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if clock()-t.began >= int64(turnTime)/2 { // otherwise it is of an earlier turn
			c.takeOver()
		}
	})
}

// next removes the next call of the turn.
func (t *turn) next() *stream {
	t.current = t.calls[0]
	n := copy(t.calls, t.calls[1:])
	t.calls[n] = nil
	t.calls = t.calls[:n]
	return t.current
}

// startRest gives the calls that are left to the workers. The caller holds mu.
func (c *conn) startRest() {
	t := &c.turn
	for i, s := range t.calls {
		s.inline = false
		c.server.run(s)
		t.calls[i] = nil
	}
	t.calls = t.calls[:0]
}

// takeOver lets another goroutine read, because the one whose turn it is waits, or takes long. The caller holds mu.
func (c *conn) takeOver() {
	t := &c.turn
	if !t.running {
		return
	}
	t.running = false
	if t.current != nil {
		t.current.inline = false
		t.current = nil
	}
	t.timer.Stop()
	t.took(int64(turnTime))
	c.startRest()
	c.flush(false)
	go c.readOn()
}

// took notes how long a call of a turn took.
func (t *turn) took(d int64) {
	if t.average += (d - t.average) / averageOver; t.average <= int64(shortCall) {
		if t.good++; t.good >= goodTurns {
			t.penalty = 0
		}
		return
	}
	t.penalty = min(max(2*t.penalty, leastPenalty), maxPenalty)
	t.left, t.good, t.average = t.penalty, 0, int64(shortCall)/2
}

// turnHook is told when the handler of a call is about to wait.
type turnHook stream

// WillWait is called by nonblock.WillWait.
func (h *turnHook) WillWait() {
	h.conn.mu.Lock()
	defer h.conn.mu.Unlock()
	if h.inline {
		h.conn.takeOver()
	}
}
