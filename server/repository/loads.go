package repository

import (
	"context"
	"sync"
)

// loads are the loads of clients under way, so that an unload or the end of the server can cancel
// them: a warm-up may take as long as its configuration says.
type loads struct {
	mu      sync.Mutex
	of      map[*load]struct{}
	stopped error // why further loads are cancelled
}

type load struct {
	name   string
	op     *operation
	cancel context.CancelCauseFunc
}

// begin adds the load that the operation of ctx makes, and returns its context. done removes it.
func (l *loads) begin(ctx context.Context, name string) (_ context.Context, done func()) {
	op, _ := ctx.Value(operationKey{}).(*operation)
	ctx, cancel := context.WithCancelCause(ctx)
	this := &load{name, op, cancel}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped != nil {
		cancel(l.stopped)
	}
	if l.of == nil {
		l.of = map[*load]struct{}{}
	}
	l.of[this] = struct{}{}
	return ctx, func() {
		l.mu.Lock()
		delete(l.of, this)
		l.mu.Unlock()
		cancel(nil)
	}
}

// cancel cancels the loads of a name for an operation. A load that the operation is nested in
// goes on: the model unloads itself in its initialize.
func (l *loads) cancel(by *operation, name string, cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for this := range l.of {
		if this.name == name && !by.within(this.op) {
			this.cancel(cause)
		}
	}
}

// cancelAll cancels all loads, and those that begin later.
func (l *loads) cancelAll(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = cause
	for this := range l.of {
		this.cancel(cause)
	}
}
