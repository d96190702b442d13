package fleet

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"triton/pkg/status"
)

// turn is held for writing while the controller reads the document and changes the server. It is held
// for reading while a load or an unload of a client changes the server, so that the controller does
// not correct half of it.
type turn struct {
	mu      sync.RWMutex
	readers atomic.Int32 // that wait: looks, one after the other, let them pass
}

// The time from one try to take the turn to the next, which doubles.
const (
	firstWait = 50 * time.Microsecond
	lastWait  = 10 * time.Millisecond
)

// lock takes the turn for writing. It tries instead of waiting in Lock, which would hold up all
// clients behind one whose load takes long, and could not end with ctx.
func (t *turn) lock(ctx context.Context) (unlock func(), err error) {
	return t.mu.Unlock, try(ctx, func() bool { return t.readers.Load() == 0 && t.mu.TryLock() })
}

// rlock takes the turn for reading.
func (t *turn) rlock(ctx context.Context) (unlock func(), err error) {
	t.readers.Add(1)
	defer t.readers.Add(-1)
	return t.mu.RUnlock, try(ctx, t.mu.TryRLock)
}

func try(ctx context.Context, take func() bool) error {
	for wait := firstWait; !take(); wait = min(2*wait, lastWait) {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return &status.Error{Code: status.Cancelled, Msg: "the call ended while another one changed the models", Cause: context.Cause(ctx)}
		}
	}
	return nil
}

// leave runs an action of the controller, but waits no longer than ctx: a load that has begun ends with
// the server, which waits for the controller before.
func leave(ctx context.Context, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
