package access

import "sync"

// Lasting is a call whose responses may go on for long: a stream.
type Lasting interface {
	// EachModel calls visit with each model that works for the call, as the caller names it, until
	// visit returns false.
	EachModel(visit func(model, version string) bool)
	// Refuse ends the call. It is called once at most and must not block. It may still be called
	// while Forget returns.
	Refuse(*Refusal)
}

// followed is a call that a guard decides about again.
type followed struct {
	Session // its own copy: the call goes on with another
	call    Call
	lasting Lasting
}

// lastingCalls are the calls that a guard decides about again when its rules change and when
// credentials expire, so that the calls themselves need not ask for each response.
type lastingCalls struct {
	mu  sync.Mutex
	all map[*followed]struct{}

	deciding sync.Mutex // one goroutine at a time decides again
}

// Follow ends a call of the session when its caller may no longer make it. Forget, which may be
// called more than once, is to be called when the call ends by itself.
func (s *Session) Follow(c Call, l Lasting) (forget func()) {
	g := s.guard
	if g == nil {
		return func() {}
	}
	f := &followed{Session: *s, call: c, lasting: l}
	g.lasting.mu.Lock()
	if g.lasting.all == nil {
		g.lasting.all = map[*followed]struct{}{}
	}
	g.lasting.all[f] = struct{}{}
	g.lasting.mu.Unlock()
	return func() { g.forget(f) }
}

// forget reports whether the call was still followed.
func (g *Guard) forget(f *followed) bool {
	g.lasting.mu.Lock()
	defer g.lasting.mu.Unlock()
	_, ok := g.lasting.all[f]
	delete(g.lasting.all, f)
	return ok
}

// endRefused ends the lasting calls whose callers may no longer make them.
func (g *Guard) endRefused() {
	g.lasting.deciding.Lock()
	defer g.lasting.deciding.Unlock()
	r := g.rules.Load()
	for _, f := range g.due(r) {
		call, refusal := f.again(r)
		if refusal == nil || !g.forget(f) {
			continue
		}
		f.refused(&call, refusal)
		ended := *refusal
		ended.Msg = "the stream was ended: " + refusal.Msg
		f.lasting.Refuse(&ended)
	}
}

// due returns the calls to decide about again. The caller holds lasting.deciding.
func (g *Guard) due(r *rules) (all []*followed) {
	g.lasting.mu.Lock()
	defer g.lasting.mu.Unlock()
	for f := range g.lasting.all {
		if f.generation != r.generation || f.expired() {
			all = append(all, f)
		}
	}
	return all
}

// again decides about a lasting call by rules that may be new. It returns what was refused.
func (f *followed) again(r *rules) (c Call, refusal *Refusal) {
	c, f.generation = f.call, r.generation
	if r.policy == nil || r.policy.Open(c.Action) {
		return c, nil
	}
	if refusal = f.credentialAgain(r); refusal == nil {
		refusal = f.decide(r, &c)
	}
	if refusal != nil {
		return c, refusal
	}
	f.lasting.EachModel(func(model, version string) bool {
		c.Model, c.Version = model, version
		refusal = f.decide(r, &c)
		return refusal == nil
	})
	return c, refusal
}

// Stale reports whether the rules have changed since the session was asked last. A stream that lists
// a request for EachModel after it was admitted, and then asks Stale, misses no change: either the
// guard sees the request, or the stream the change.
func (s *Session) Stale() bool {
	return s.guard != nil && s.guard.rules.Load().generation != s.generation
}
