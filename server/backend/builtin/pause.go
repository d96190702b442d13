package builtin

import (
	"context"
	"time"

	"triton/pkg/status"
	"triton/server/backend"
)

// pauseInterval is how often a pause checks whether a caller still waits.
const pauseInterval = 2 * time.Millisecond

// pause blocks for d, or until ctx ends or abandoned reports that no caller waits.
func pause(ctx context.Context, d time.Duration, abandoned func() bool) error {
	if d <= 0 {
		return nil
	}
	end := time.Now().Add(d)
	timer := time.NewTimer(min(d, pauseInterval))
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return backend.Interrupted(ctx)
		}
		if !time.Now().Before(end) {
			return nil
		}
		if abandoned() {
			return errCancelled()
		}
		timer.Reset(min(time.Until(end), pauseInterval))
	}
}

func errCancelled() error { return status.New(status.Cancelled, "cancelled") }
