package sequence

import (
	"sync"
	"time"

	"triton/server/infer"
)

// timer calls a function at the time it is set to, and not after stop.
type timer struct {
	clock *time.Timer
	at    int64      // what it is set to; 0 when it is not; under the source's lock
	busy  sync.Mutex // held while the function runs
}

func (t *timer) start(call func()) {
	t.clock = time.AfterFunc(time.Hour, func() {
		t.busy.Lock()
		defer t.busy.Unlock()
		call()
	})
	t.clock.Stop()
}

// set lets the timer ring at a time, or before.
func (t *timer) set(at int64) {
	if at == 0 || t.at != 0 && t.at <= at {
		return
	}
	t.at = at
	t.clock.Reset(time.Duration(at - infer.Now()))
}

// stop returns when the function does not run any more.
func (t *timer) stop() {
	t.clock.Stop()
	t.busy.Lock()
	defer t.busy.Unlock()
}
