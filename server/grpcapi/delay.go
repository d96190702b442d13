package grpcapi

import (
	"context"
	"time"
)

// testDelay sleeps for one of Delays, which only test suites set.
func testDelay(d time.Duration) {
	if d > 0 {
		time.Sleep(d)
	}
}

// delayDone returns a context that ends d later than ctx.
func delayDone(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		testDelay(d)
		cancel()
	})
	return late, func() {
		stop()
		cancel()
	}
}
