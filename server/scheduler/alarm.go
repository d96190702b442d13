package scheduler

import "time"

// Alarm is a timer that can be set again at any time. Its channel receives a tick soon
// after the set time. A tick may also be left over from an earlier setting, so the
// receiver checks what is due.
type Alarm interface {
	C() <-chan time.Time
	Set(d time.Duration)
	Close()
}

// clockAlarm is Go's own timer. It works with testing/synctest but, on an idle machine,
// is late by up to a millisecond: the runtime waits in whole milliseconds.
type clockAlarm struct{ timer *time.Timer }

// NewAlarm returns an alarm that uses Go's own timers.
func NewAlarm() Alarm {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return clockAlarm{t}
}

func (c clockAlarm) C() <-chan time.Time { return c.timer.C }
func (c clockAlarm) Set(d time.Duration) { c.timer.Reset(d) }
func (c clockAlarm) Close()              { c.timer.Stop() }
