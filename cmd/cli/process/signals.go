package process

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"
)

// SignalWindow is the time after the first signal in which further signals are ignored: a
// supervisor or timeout(1) signals the process and then its process group, one right after the other. A
// person who presses Ctrl-C twice takes longer.
const SignalWindow = 200 * time.Millisecond

// OnSignal calls first for the first SIGINT or SIGTERM, and again for each signal that
// arrives more than window later. Signals within the window are ignored, because one
// request to stop may reach the process twice: directly and through its process group. A
// nil again ignores later signals. The calls come from
// one goroutine, one after the other. stop must be called; it waits for a call in progress.
func (p Process) OnSignal(window time.Duration, first, again func(os.Signal)) (stop func()) {
	signals, unsubscribe := p.Signals()
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() { watchSignals(signals, done, window, first, again) })
	return func() {
		close(done)
		watch.Wait()
		unsubscribe()
	}
}

func watchSignals(signals <-chan os.Signal, done <-chan struct{}, window time.Duration, first, again func(os.Signal)) {
	var began time.Time
	for {
		select {
		case <-done:
			return
		case sig := <-signals:
			switch {
			case began.IsZero():
				began = time.Now()
				first(sig)
			case again != nil && (window == 0 || time.Since(began) > window):
				again(sig)
			}
		}
	}
}

var errInterrupted = errors.New("interrupted")

// Interruptible returns a context that the first SIGINT or SIGTERM cancels, with the
// cause "interrupted"; later signals change nothing. stop must be called.
func (p Process) Interruptible(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	unwatch := p.OnSignal(0, func(os.Signal) { cancel(errInterrupted) }, nil)
	return ctx, func() {
		cancel(context.Canceled)
		unwatch()
	}
}
