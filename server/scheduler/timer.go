package scheduler

import (
	"sync"
	"time"

	"triton/server/infer"
)

// Timer calls a function at a set time, for timeouts that pass while all instances are
// busy. The zero value is not started. All methods but Stop are called under the owner's
// lock.
type Timer struct {
	clock *time.Timer
	at    int64      // when it fires; 0 when it is not set
	busy  sync.Mutex // held while the function runs
}

// Start creates the timer. It calls the function without the owner's lock.
func (t *Timer) Start(call func()) {
	t.clock = time.AfterFunc(time.Hour, func() {
		t.busy.Lock()
		defer t.busy.Unlock()
		call()
	})
	t.clock.Stop()
}

// Started reports whether Start was called.
func (t *Timer) Started() bool { return t.clock != nil }

// Set makes the timer fire at the time at, by infer.Now, unless it is set to an earlier
// one. With 0 it does nothing.
func (t *Timer) Set(at int64) {
	if at == 0 || t.at != 0 && t.at <= at {
		return
	}
	t.at = at
	t.clock.Reset(time.Duration(at - infer.Now()))
}

// Fired records that the timer fired. The function calls it first, so that the timer can
// be set to any time.
func (t *Timer) Fired() { t.at = 0 }

// Stop stops the timer and waits for a running function.
func (t *Timer) Stop() {
	if t.clock != nil {
		t.clock.Stop()
		t.busy.Lock()
		defer t.busy.Unlock()
	}
}
