package python

import (
	"sync"
	"time"
)

// deadline calls a function when the time between begin and end exceeds a limit. The nil
// deadline has no limit.
type deadline struct {
	limit    time.Duration
	exceeded func()

	mu struct {
		sync.Mutex
		at    time.Time // zero between end and begin
		timer *time.Timer
	}
}

// newDeadline returns a deadline; nil if limit is 0.
func newDeadline(limit time.Duration, exceeded func()) *deadline {
	if limit == 0 {
		return nil
	}
	return &deadline{limit: limit, exceeded: exceeded}
}

func (d *deadline) begin() {
	if d != nil {
		d.start()
	}
}

func (d *deadline) start() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.at = time.Now().Add(d.limit)
	if d.mu.timer == nil {
		d.mu.timer = time.AfterFunc(d.limit, d.check)
	} else {
		d.mu.timer.Reset(d.limit)
	}
}

// check runs on the timer, perhaps late: then it belongs to a call that has ended.
func (d *deadline) check() {
	d.mu.Lock()
	over := !d.mu.at.IsZero() && !time.Now().Before(d.mu.at)
	d.mu.Unlock()
	if over {
		d.exceeded()
	}
}

func (d *deadline) end() {
	if d != nil {
		d.stop()
	}
}

func (d *deadline) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.at = time.Time{}
	d.mu.timer.Stop()
}
