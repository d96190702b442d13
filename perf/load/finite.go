package load

import (
	"context"
	"fmt"
	"sync"
)

// finite is a pool whose workers each have a task that ends. Its level is over when all tasks
// are.
type finite struct {
	pool
	tasks struct {
		sync.Mutex
		left   int           // that run, or that run later
		paused chan struct{} // closed by Pause
		over   bool          // paused is closed
		none   chan struct{} // closed when no task is left
	}
}

func (f *finite) init(ctx context.Context, o Options) {
	f.pool.init(ctx, o)
	f.tasks.none = make(chan struct{})
	close(f.tasks.none)
	f.tasks.paused = make(chan struct{})
}

// expect expects n tasks. The channel receives when all are over, unless one failed.
func (f *finite) expect(n int) <-chan struct{} {
	none, done := make(chan struct{}), make(chan struct{}, 1)
	f.tasks.Lock()
	f.tasks.left, f.tasks.none = n, none
	f.tasks.paused, f.tasks.over = make(chan struct{}), false
	f.tasks.Unlock()
	f.wg.Go(func() {
		select {
		case <-none:
			if f.Err() == nil {
				done <- struct{}{}
			}
		case <-f.ctx.Done():
		}
	})
	return done
}

// start runs a task on a worker of its own.
func (f *finite) start(task func(*worker) error) {
	f.add(func(w *worker) error {
		defer f.countOver(1)
		if err := w.dial(f.ctx); err != nil {
			return err
		}
		return task(w)
	})
}

// countOver counts n tasks that are over, or that do not start any more.
func (f *finite) countOver(n int) {
	f.tasks.Lock()
	defer f.tasks.Unlock()
	if n == 0 {
		return
	}
	if f.tasks.left -= n; f.tasks.left == 0 {
		close(f.tasks.none)
	}
}

// pause returns a channel that Pause closes.
func (f *finite) pause() <-chan struct{} {
	f.tasks.Lock()
	defer f.tasks.Unlock()
	return f.tasks.paused
}

// Pause starts no more requests.
func (f *finite) Pause() {
	f.tasks.Lock()
	defer f.tasks.Unlock()
	if !f.tasks.over {
		f.tasks.over = true
		close(f.tasks.paused)
	}
}

// drain waits until no task is left.
func (f *finite) drain(ctx context.Context) error {
	f.tasks.Lock()
	none := f.tasks.none
	f.tasks.Unlock()
	select {
	case <-none:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for requests in flight: %w", ctx.Err())
	}
}
