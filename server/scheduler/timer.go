package scheduler

import (
	"sync"
	"time"

	"triton/server/infer"
)

// Timer has a function called at the time that it is set to, for what may
// happen to those that wait while all instances are busy. The zero value has
// no timer at all. All but Stop is called under the lock of whoever owns it.
type Timer struct {
	clock *time.Timer
	at    int64      // what it is set to; 0 when it is not
	busy  sync.Mutex // held while the function runs
}

// Start makes the timer; the function has no lock when it is called.
func (t *Timer) Start(call func()) {
	t.clock = time.AfterFunc(time.Hour, func() {
		t.busy.Lock()
		defer t.busy.Unlock()
		call()
	})
	t.clock.Stop()
}

// Started says whether Start was called.
func (t *Timer) Started() bool { return t.clock != nil }

// Set lets the timer ring at a time, by infer.Now, or before; 0 changes nothing.
func (t *Timer) Set(at int64) {
	if at == 0 || t.at != 0 && t.at <= at {
		return
	}
	t.at = at
	t.clock.Reset(time.Duration(at - infer.Now()))
}

// Rang is what the function says first: it may be set again, to any time.
func (t *Timer) Rang() { t.at = 0 }

// Stop returns when the function does not run any more.
func (t *Timer) Stop() {
	if t.clock != nil {
		t.clock.Stop()
		t.busy.Lock()
		defer t.busy.Unlock()
	}
}
