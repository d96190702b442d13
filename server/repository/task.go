package repository

import (
	"context"
	"sync"

	"triton/pkg/status"
)

// tasks counts what is under way, until it is closed.
type tasks struct {
	mu     sync.Mutex
	n      int
	closed bool
	empty  chan struct{} // closed when closed is set and n is 0
}

// begin counts a task; false when no more may begin.
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

// close lets nothing begin any more. The channel is closed when all is done.
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

// names are locks by model name.
type names struct {
	mu   sync.Mutex
	busy map[string]chan struct{} // closed when the name is free again
}

// hold takes a name. While another holds it, it waits until ctx ends.
func (n *names) hold(ctx context.Context, name string) (free func(), waited bool, err error) {
	for {
		n.mu.Lock()
		wait, taken := n.busy[name]
		if !taken {
			mine := make(chan struct{})
			n.busy[name] = mine
			n.mu.Unlock()
			return func() {
				n.mu.Lock()
				delete(n.busy, name)
				n.mu.Unlock()
				close(mine)
			}, waited, nil
		}
		n.mu.Unlock()
		waited = true
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, true, &status.Error{Code: status.Cancelled, Msg: "model '" + name + "' is being loaded or unloaded by another call", Cause: context.Cause(ctx)}
		}
	}
}
