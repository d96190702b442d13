package ondemand

import (
	"context"
	"errors"
	"time"

	"triton/pkg/status"
)

// ErrUnknown reports that the store does not have a model.
var ErrUnknown = errors.New("the store does not have the model")

// errExpired is the cause of the end of a wait that took longer than the timeout.
var errExpired = errors.New("timeout")

// flight is a load with the requests that wait for it.
type flight struct {
	name    string
	ctx     context.Context // of the load until it has memory
	cancel  context.CancelFunc
	done    chan struct{}
	waiters int
	loading bool
	err     error  // set before done is closed
	release func() // of the loaded model
	place   *place // in the queue for memory; nil: it is not there
	why     string // it waited for memory until the end
}

// Await loads a model, or waits until another request has loaded it, and then calls acquire, during
// which the model is not unloaded. The wait ends with ctx and with the timeout.
func (m *Manager) Await(ctx context.Context, name string, acquire func() error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, m.opts.Timeout, errExpired)
	defer cancel()
	f, err := m.join(name)
	if err != nil {
		return err
	}
	defer m.leave(f)
	select {
	case <-f.done:
		if f.err != nil {
			return f.err
		}
		return acquire()
	case <-ctx.Done():
		return m.gaveUp(ctx, f)
	}
}

// join adds a request to the load of a model, which it begins if there is none.
func (m *Manager) join(name string) (*flight, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if at, ok := m.unknown[name]; ok && now.Sub(at) < unknownTime {
		return nil, ErrUnknown
	}
	if was := m.failed[name]; was != nil && now.Before(was.retry) && now.Sub(was.checked) < checkInterval {
		return nil, was.error(now)
	}
	if m.waiting >= m.opts.MaxWaiting {
		m.counts.Refused++
		return nil, status.New(status.Unavailable, "model '%s' is not loaded, and %d requests wait for loads already (--auto-load-max-waiting)", name, m.waiting)
	}
	f := m.flights[name]
	if f == nil {
		f = &flight{name: name, done: make(chan struct{}), release: func() {}}
		f.ctx, f.cancel = context.WithCancel(m.life)
		if !m.start(func() { m.run(f) }) {
			f.cancel()
			return nil, status.New(status.Unavailable, "Server exiting")
		}
		m.flights[name] = f
	}
	f.waiters++
	m.waiting++
	return f, nil
}

// leave removes a request from a load. Without requests a load that waits for memory ends, and a
// model that was loaded may be unloaded again.
func (m *Manager) leave(f *flight) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f.waiters--
	m.waiting--
	if f.waiters > 0 {
		return
	}
	select {
	case <-f.done:
		f.release()
		m.wake()
	default:
		if !f.loading {
			m.forget(f) // a request that comes now begins another load
			f.cancel()
		}
	}
}

// forget lets later requests begin a load of their own. The caller holds m.mu.
func (m *Manager) forget(f *flight) {
	if m.flights[f.name] == f {
		delete(m.flights, f.name)
	}
}

// run makes a load and gives the result to the requests.
func (m *Manager) run(f *flight) {
	defer f.cancel()
	err := m.load(f)
	m.mu.Lock()
	defer m.mu.Unlock()
	f.err = err
	m.forget(f)
	if f.waiters == 0 {
		f.release()
	}
	close(f.done)
	m.wake()
}

// load finds a model, waits for memory and loads it.
func (m *Manager) load(f *flight) error {
	t, err := m.opts.Models.Target(f.ctx, f.name)
	switch {
	case err != nil:
		return status.New(status.Unavailable, "model '%s' cannot be looked up in its store: %w", f.name, err)
	case !t.Known:
		m.recordUnknown(f.name)
		return ErrUnknown
	}
	if err := m.failedBefore(f.name, t); err != nil {
		return err
	}
	free, err := m.reserve(f.ctx, f.name, t, f)
	if err != nil {
		return err
	}
	defer free()
	if !m.beginLoading(f) {
		return f.ctx.Err()
	}
	err = m.loaded(f.name, t, m.opts.Models.Load(m.life, f.name))
	if err == nil { // before the reservation ends, or the model might be evicted
		f.release = m.opts.Models.Hold(f.name)
	}
	return err
}

// beginLoading reports whether requests still wait for a load. From now on it does not end when
// they leave.
func (m *Manager) beginLoading(f *flight) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	f.loading = f.waiters > 0
	return f.loading
}

// gaveUp returns the error of a request that waits no longer.
func (m *Manager) gaveUp(ctx context.Context, f *flight) error {
	cause := context.Cause(ctx)
	if !errors.Is(cause, errExpired) && !errors.Is(cause, context.DeadlineExceeded) {
		return &status.Error{Code: status.Cancelled, Msg: "the request ended while model '" + f.name + "' was being loaded", Cause: cause}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts.Expired++
	what := "its load takes longer"
	switch {
	case f.place != nil:
		what = f.place.why
	case f.why != "":
		what = f.why
	}
	limit := "the deadline of the request"
	if errors.Is(cause, errExpired) {
		limit = m.opts.Timeout.String() + " (--auto-load-timeout-secs)"
	}
	return &status.Error{Code: status.Unavailable, Msg: "model '" + f.name + "' was not loaded within " + limit + ": " + what, Cause: cause}
}

// recordUnknown remembers for a moment that the store does not have a model.
func (m *Manager) recordUnknown(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.unknown) >= maxUnknown {
		clear(m.unknown)
	}
	m.unknown[name] = time.Now()
	m.book.Forget(name)
	delete(m.failed, name)
	delete(m.reasons, name)
}
