package repository

import (
	"context"
	"sync"
)

// tasks counts the operations and closings under way, until it is closed.
type tasks struct {
	mu     sync.Mutex
	n      int
	closed bool
	empty  chan struct{} // closed when closed is set and n is 0
}

// begin counts a task. It returns false if no more tasks may begin.
func (t *tasks) begin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.n++
	return true
}

func (t *tasks) done() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n--
	if t.closed && t.n == 0 {
		close(t.empty)
	}
}

// close lets no more tasks begin. The channel is closed when all tasks are done.
func (t *tasks) close() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.closed = true
		if t.n == 0 {
			close(t.empty)
		}
	}
	return t.empty
}

// runTask runs a task that a drain waits for. The context of do ends with ctx and with the
// repository. A backend may react to that slowly, so the caller waits no longer than ctx.
func (r *Repository) runTask(ctx context.Context, do func(context.Context) error) error {
	if !r.tasks.begin() {
		return errNotReady
	}
	done := make(chan error, 1)
	go func() {
		defer r.tasks.done()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(r.life, cancel)()
		done <- do(ctx)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
