package repository

import (
	"context"
	"slices"
	"sync"

	"triton/pkg/status"
)

// nameLocks are locks by model name. An operation locks the names of the models that it may
// change.
type nameLocks struct {
	mu      sync.Mutex
	busy    map[string]chan struct{} // closed when the name is free again
	watches map[*watch]struct{}
}

func newNameLocks() nameLocks {
	return nameLocks{busy: map[string]chan struct{}{}, watches: map[*watch]struct{}{}}
}

// watch collects the names that other operations have unlocked since it began.
type watch struct{ freed map[string]bool } // guarded by nameLocks.mu

// watch begins to collect the names that are unlocked. unwatch ends it.
func (n *nameLocks) watch() *watch {
	n.mu.Lock()
	defer n.mu.Unlock()
	w := &watch{map[string]bool{}}
	n.watches[w] = struct{}{}
	return w
}

func (n *nameLocks) unwatch(w *watch) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.watches, w)
}

// changedSince reports whether another operation has unlocked one of the held names since the
// watch began. If so, the watch begins anew. A nil watch has collected nothing.
func (n *nameLocks) changedSince(w *watch, held []string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if w == nil || !slices.ContainsFunc(held, func(name string) bool { return w.freed[name] }) {
		return false
	}
	clear(w.freed)
	return true
}

// lockAll locks names in their order. The watch is the operation's own: it does not collect
// the names that free unlocks. It may be nil.
func (n *nameLocks) lockAll(ctx context.Context, all []string, own *watch) (free func(), err error) {
	var held []func()
	free = func() {
		for _, f := range slices.Backward(held) {
			f()
		}
	}
	for _, name := range all {
		f, err := n.lock(ctx, name, own)
		if err != nil {
			free()
			return nil, err
		}
		held = append(held, f)
	}
	return free, nil
}

// lock locks a name. While another operation holds the name, it waits, until ctx ends.
func (n *nameLocks) lock(ctx context.Context, name string, own *watch) (free func(), err error) {
	for {
		n.mu.Lock()
		wait, taken := n.busy[name]
		if !taken {
			held := make(chan struct{})
			n.busy[name] = held
			n.mu.Unlock()
			return func() { n.unlock(name, held, own) }, nil
		}
		n.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, &status.Error{Code: status.Cancelled, Msg: "model '" + name + "' is being loaded or unloaded by another call", Cause: context.Cause(ctx)}
		}
	}
}

func (n *nameLocks) unlock(name string, held chan struct{}, own *watch) {
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
