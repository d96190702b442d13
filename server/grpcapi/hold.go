package grpcapi

import (
	"context"
	"time"
)

// hold is one of Holds: it sleeps where a test suite asked for it.
func hold(d time.Duration) {
	if d > 0 {
		time.Sleep(d)
	}
}

// laterDone is a context that ends by d later than ctx.
func laterDone(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		hold(d)
		cancel()
	})
	return late, func() {
		stop()
		cancel()
	}
}
