package grpcapi

import (
	"context"
	"time"
)

// sleep is one of Holds: it sleeps where a test suite asked for it.
func sleep(d time.Duration) {
	if d > 0 {
		time.Sleep(d)
	}
}

// delayDone returns a context that ends by d later than ctx.
func delayDone(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		sleep(d)
		cancel()
	})
	return late, func() {
		stop()
		cancel()
	}
}
