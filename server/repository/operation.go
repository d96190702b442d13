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
	loadPlaceKey struct{}
)

// newOperation returns a new operation and the context for its work. The operation is nested in
// that of ctx, if ctx has one.
func (r *Repository) newOperation(ctx context.Context) (*operation, context.Context) {
	outer, _ := ctx.Value(operationKey{}).(*operation)
	o := &operation{outer}
	return o, context.WithValue(r.life, operationKey{}, o)
}

// loadPlace is the right of a version to load, one of LoadThreads. While nested operations run,
// the version waits for them and gives its place back.
type loadPlace struct {
	taken chan struct{} // Repository.places: an element for each version that loads

	mu     sync.Mutex
	held   bool
	nested int // number of nested operations
	ended  bool
}

// acquirePlace waits for a place and returns it with the context for the load.
func (r *Repository) acquirePlace(ctx context.Context) (*loadPlace, context.Context) {
	p := &loadPlace{taken: r.places}
	select {
	case p.taken <- struct{}{}:
		p.held = true
	case <-ctx.Done():
	}
	return p, context.WithValue(ctx, loadPlaceKey{}, p)
}

// release ends the use of a place.
func (p *loadPlace) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.giveBack()
}

func (p *loadPlace) giveBack() {
	if p.held {
		p.held = false
		<-p.taken
	}
}

// lendPlace gives back the place of the version that ctx loads, if it loads one. The
// returned function waits for a place again, until ctx ends.
func lendPlace(ctx context.Context) (back func()) {
	p, _ := ctx.Value(loadPlaceKey{}).(*loadPlace)
	if p == nil {
		return func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nested++
	p.giveBack()
	return func() { p.retake(ctx) }
}

func (p *loadPlace) retake(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nested--
	if p.nested > 0 || p.ended {
		return
	}
	select {
	case p.taken <- struct{}{}:
		p.held = true
	case <-ctx.Done():
	}
}
