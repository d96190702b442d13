package cli

import (
	"context"
	"errors"
	"sync"
)

var errInterrupted = errors.New("interrupted")

// interruptible is a context that ends with errInterrupted at the first
// interrupt or termination request. stop must be called; it waits for the
// watching goroutine.
func interruptible(ctx context.Context, w World) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals, unsubscribe := w.Signals()
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-signals:
			cancel(errInterrupted)
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		cancel(context.Canceled)
		watch.Wait()
		unsubscribe()
	}
}
