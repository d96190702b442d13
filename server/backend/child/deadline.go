package child

import (
	"sync"
	"time"
)

// Deadline calls a function when the time between Begin and End exceeds a limit. The nil
// Deadline has no limit.
type Deadline struct {
	limit    time.Duration
	exceeded func()

	mu struct {
		sync.Mutex
		at    time.Time // zero between End and Begin
		timer *time.Timer
	}
}

// NewDeadline returns a Deadline; nil if limit is 0.
func NewDeadline(limit time.Duration, exceeded func()) *Deadline {
	if limit == 0 {
		return nil
	}
	return &Deadline{limit: limit, exceeded: exceeded}
}

// Begin begins a call.
func (d *Deadline) Begin() {
	if d != nil {
		d.start()
	}
}

func (d *Deadline) start() {
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
func (d *Deadline) check() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.mu.at.IsZero() && !time.Now().Before(d.mu.at) {
		d.exceeded()
	}
}

// End ends it.
func (d *Deadline) End() {
	if d != nil {
		d.stop()
	}
}

func (d *Deadline) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.at = time.Time{}
	d.mu.timer.Stop()
}
