package scheduler

import "time"

// Alarm is a timer that can be set again at any time. Its channel gets a tick
// some time after it is due; a tick that nobody took may be an old one.
type Alarm interface {
	C() <-chan time.Time
	Set(d time.Duration)
	Close()
}

// clock is Go's own timer. It knows testing/synctest but, on a machine with
// nothing else to do, it is late by up to a millisecond: the runtime waits in
// whole milliseconds.
type clock struct{ timer *time.Timer }

// NewClock is an alarm by Go's own timers.
func NewClock() Alarm {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return clock{t}
}

func (c clock) C() <-chan time.Time { return c.timer.C }
func (c clock) Set(d time.Duration) { c.timer.Reset(d) }
func (c clock) Close()              { c.timer.Stop() }
