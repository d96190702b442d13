package repository

import (
	"context"
	"slices"
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
	mu      sync.Mutex
	busy    map[string]chan struct{} // closed when the name is free again
	watches map[*watch]struct{}
}

// watch collects the names that other operations have freed since it began.
type watch struct{ freed map[string]bool } // guarded by names.mu

// watch begins to collect the names that are freed. unwatch ends it.
func (n *names) watch() *watch {
	n.mu.Lock()
	defer n.mu.Unlock()
	w := &watch{map[string]bool{}}
	n.watches[w] = struct{}{}
	return w
}

func (n *names) unwatch(w *watch) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.watches, w)
}

// overtaken reports whether another operation has freed one of the held names since the
// watch began. If so, the watch begins anew. A nil watch has collected nothing.
func (n *names) overtaken(w *watch, held []string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if w == nil || !slices.ContainsFunc(held, func(name string) bool { return w.freed[name] }) {
		return false
	}
	clear(w.freed)
	return true
}

// hold takes a name. While another operation holds it, hold waits until ctx ends. The
// watch is the operation's own: it does not collect the names that free frees.
func (n *names) hold(ctx context.Context, name string, own *watch) (free func(), err error) {
	for {
		n.mu.Lock()
		wait, taken := n.busy[name]
		if !taken {
			mine := make(chan struct{})
			n.busy[name] = mine
			n.mu.Unlock()
			return func() { n.free(name, mine, own) }, nil
		}
		n.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, &status.Error{Code: status.Cancelled, Msg: "model '" + name + "' is being loaded or unloaded by another call", Cause: context.Cause(ctx)}
		}
	}
}

func (n *names) free(name string, held chan struct{}, own *watch) {
	n.mu.Lock()
	delete(n.busy, name)
	for w := range n.watches {
		if w != own {
			w.freed[name] = true
		}
	}
	n.mu.Unlock()
	close(held)
}
