package repository

import (
	"context"
	"sync"
)

// operation is a load or an unload of a client or a model. An operation that a model requests
// while it is being loaded, such as in the initialize of a Python model, is nested in the
// operation that loads the model: that one waits for it.
type operation struct{ outer *operation }

// within reports whether o is an operation or nested in it.
func (o *operation) within(outer *operation) bool {
	for ; o != nil; o = o.outer {
		if o == outer {
			return true
		}
	}
	return false
}

type (
	operationKey struct{}
	placeKey     struct{}
)

// newOperation returns a new operation and the context for its work. The operation is nested in
// that of ctx, if ctx has one.
func (r *Repository) newOperation(ctx context.Context) (*operation, context.Context) {
	outer, _ := ctx.Value(operationKey{}).(*operation)
	o := &operation{outer}
	return o, context.WithValue(r.life, operationKey{}, o)
}

// place is the right of a version to load, one of LoadThreads. While nested operations run,
// the version waits for them and gives its place back.
type place struct {
	free chan struct{} // Repository.loading

	mu     sync.Mutex
	held   bool
	nested int // number of nested operations
	ended  bool
}

// acquirePlace waits for a place and returns it with the context for the load.
func (r *Repository) acquirePlace(ctx context.Context) (*place, context.Context) {
	p := &place{free: r.places}
	select {
	case p.free <- struct{}{}:
		p.held = true
	case <-ctx.Done():
	}
	return p, context.WithValue(ctx, placeKey{}, p)
}

// release ends the use of a place.
func (p *place) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.giveBack()
}

func (p *place) giveBack() {
	if p.held {
		p.held = false
		<-p.free
	}
}

// lendPlace gives back the place of the version that ctx loads, if it loads one. The
// returned function waits for a place again, until ctx ends.
func lendPlace(ctx context.Context) (back func()) {
	p, _ := ctx.Value(placeKey{}).(*place)
	if p == nil {
		return func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nested++
	p.giveBack()
	return func() { p.retake(ctx) }
}

func (p *place) retake(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nested--
	if p.nested > 0 || p.ended {
		return
	}
	select {
	case p.free <- struct{}{}:
		p.held = true
	case <-ctx.Done():
	}
}
