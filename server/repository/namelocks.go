package repository

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"triton/pkg/status"
)

// nameLocks are locks by model name. An operation locks the names of the models that it may
// change.
type nameLocks struct {
	mu      sync.Mutex
	busy    map[string]holding
	waiting map[*operation]holding // the operations that wait, and what each waits for
	watches map[*watch]struct{}
}

// holding is a name that an operation holds.
type holding struct {
	by    *operation
	ended chan struct{} // closed when the name is free again
}

func newNameLocks() nameLocks {
	return nameLocks{busy: map[string]holding{}, waiting: map[*operation]holding{}, watches: map[*watch]struct{}{}}
}

// errCycle reports that operations would wait for each other.
var errCycle = errors.New("operations wait for each other")

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

// lockAll takes names in their order for an operation. The watch is the operation's own: it
// does not collect the names that free unlocks. It may be nil.
func (n *nameLocks) lockAll(ctx context.Context, op *operation, all []string, own *watch) (free func(), err error) {
	var held []func()
	free = func() {
		for _, f := range slices.Backward(held) {
			f()
		}
	}
	for _, name := range all {
		f, err := n.lock(ctx, op, name, own)
		if err != nil {
			free()
			return nil, err
		}
		held = append(held, f)
	}
	return free, nil
}

// lock locks a name. While another operation holds the name, it waits until ctx ends. It
// returns errCycle if that operation waits for op, as when two models load each other while
// they are being loaded.
func (n *nameLocks) lock(ctx context.Context, op *operation, name string, own *watch) (free func(), err error) {
	for {
		n.mu.Lock()
		h, taken := n.busy[name]
		if !taken {
			h = holding{op, make(chan struct{})}
			n.busy[name] = h
			n.mu.Unlock()
			return func() { n.unlock(name, h, own) }, nil
		}
		if n.waitsFor(h.by, op) {
			n.mu.Unlock()
			return nil, errCycle
		}
		n.waiting[op] = h
		n.mu.Unlock()
		select {
		case <-h.ended:
			n.stopWaiting(op)
		case <-ctx.Done():
			n.stopWaiting(op)
			return nil, &status.Error{Code: status.Cancelled, Msg: "model '" + name + "' is being loaded or unloaded by another call", Cause: context.Cause(ctx)}
		}
	}
}

// stopWaiting records that an operation no longer waits.
func (n *nameLocks) stopWaiting(op *operation) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.waiting, op)
}

// waitsFor reports whether o cannot end before op does: op is nested in o, or o or an
// operation nested in o waits for a third one that cannot end before op. The caller holds
// n.mu.
func (n *nameLocks) waitsFor(o, op *operation) bool {
	if op.within(o) {
		return true
	}
	for waiting, next := range n.waiting {
		if waiting.within(o) && n.waitsFor(next.by, op) {
			return true
		}
	}
	return false
}

// heldAround reports whether op is nested in the operation that holds a name.
func (n *nameLocks) heldAround(op *operation, name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	h, taken := n.busy[name]
	return taken && op.within(h.by)
}

func (n *nameLocks) unlock(name string, h holding, own *watch) {
	n.mu.Lock()
	delete(n.busy, name)
	// Nothing waits for this holding any more, though the waiting operations have not run yet.
	maps.DeleteFunc(n.waiting, func(_ *operation, next holding) bool { return next == h })
	for w := range n.watches {
		if w != own {
			w.freed[name] = true
		}
	}
	n.mu.Unlock()
	close(h.ended)
}

// tryAll takes names for an operation if all of them are free.
func (n *nameLocks) tryAll(op *operation, all []string) (free func(), ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, name := range all {
		if _, taken := n.busy[name]; taken {
			return nil, false
		}
	}
	var held []func()
	for _, name := range all {
		h := holding{op, make(chan struct{})}
		n.busy[name] = h
		held = append(held, func() { n.unlock(name, h, nil) })
	}
	return func() {
		for _, f := range held {
			f()
		}
	}, true
}
