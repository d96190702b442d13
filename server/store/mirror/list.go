package mirror

import (
	"context"
	"errors"
	"fmt"
	"time"

	"triton/pkg/status"
	"triton/server/store"
)

// flight is one listing that several callers wait for.
type flight struct {
	done    chan struct{}
	listing *listing
	err     error
}

// Errors of listings.
var (
	errUnreachable = errors.New("the store cannot be reached")
	errSlow        = errors.New("the store has not answered in time")
)

// checkLasts is how long List uses the listing of Check: at a start one follows the other.
const checkLasts = 100 * time.Millisecond

// Check lists the path.
func (m *Mirror) Check(ctx context.Context) error {
	m.mu.Lock()
	known := m.last != nil && (m.failure == nil || m.offline)
	m.mu.Unlock()
	if known {
		return nil
	}
	_, err := m.refresh(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.offline {
		err = nil
	}
	if err == nil {
		m.checked = time.Now()
	}
	return err
}

// List lists the path. If it cannot be listed, it returns the folders of the last listing, with the
// error unless KeepLast is set.
func (m *Mirror) List(ctx context.Context) ([]string, error) {
	m.mu.Lock()
	if l := m.last; l != nil && time.Since(m.checked) < checkLasts {
		m.checked = time.Time{}
		m.mu.Unlock()
		return l.folders, nil
	}
	m.mu.Unlock()
	l, err := m.refresh(ctx)
	switch {
	case l == nil:
		return nil, err
	case (m.opts.KeepLast || m.isOffline()) && ctx.Err() == nil:
		return l.folders, nil
	}
	return l.folders, err
}

// Stamp identifies the content of a model by the names and tags of its objects.
func (m *Mirror) Stamp(_ context.Context, name string) (store.Stamp, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.last == nil:
		return nil, status.New(status.Unavailable, "%s has not been listed yet", m.source)
	case m.failure != nil && !m.opts.KeepLast && !m.offline:
		return nil, status.New(status.Unavailable, "%w", m.failure)
	case m.last.models[name] == nil:
		return nil, status.New(status.NotFound, "%s was removed", m.Location(name))
	}
	f := m.last.models[name]
	if f.err != nil {
		return nil, status.New(status.InvalidArg, "%s: %w", m.source, f.err)
	}
	return f.stamp, nil
}

func (m *Mirror) isOffline() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.offline
}

// refresh lists the path and returns the newest complete listing, which is nil if there is none.
// With an error the listing is an older one.
func (m *Mirror) refresh(ctx context.Context) (*listing, error) {
	f, patience, err := m.join()
	if err != nil {
		return nil, err
	}
	var slow <-chan time.Time
	if patience > 0 {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		slow = timer.C
	}
	select {
	case <-f.done:
		m.mu.Lock()
		defer m.mu.Unlock()
		if f.err != nil {
			return m.last, f.err
		}
		return f.listing, nil
	case <-slow:
		return m.fail(m.explain("listing", errSlow))
	case <-ctx.Done():
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.last, context.Cause(ctx)
	}
}

// join returns a listing that begins after the call, and how long to wait for it; 0: as long as it
// takes.
func (m *Mirror) join() (*flight, time.Duration, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.life.Err() != nil {
		return nil, 0, errClosed
	}
	var patience time.Duration
	switch {
	case m.last != nil && m.failure != nil:
		patience = m.opts.Retry
	case m.last != nil, m.opts.Offline:
		patience = m.opts.Patience
	}
	if m.now == nil {
		m.now = &flight{done: make(chan struct{})}
		m.start(m.now)
		return m.now, patience, nil
	}
	if m.next == nil {
		m.next = &flight{done: make(chan struct{})}
	}
	return m.next, patience, nil
}

// start runs a listing. The caller holds m.mu.
func (m *Mirror) start(f *flight) {
	m.work.Go(func() {
		f.listing, f.err = m.list(m.life)
		m.mu.Lock()
		defer m.mu.Unlock()
		if f.err == nil {
			m.succeed(f.listing)
		}
		m.now, m.next = m.next, nil
		if m.now != nil {
			m.start(m.now)
		}
		close(f.done)
	})
}

// list lists the path once.
func (m *Mirror) list(ctx context.Context) (l *listing, err error) {
	begin := time.Now()
	err = m.opts.Download.Retry(ctx, "listing", func(ctx context.Context) error {
		objects, err := m.source.List(ctx)
		if err == nil {
			l = newListing(objects)
			m.keepListing(objects)
		}
		return err
	})
	m.stats.listings.Add(1)
	m.stats.listTime.Add(int64(time.Since(begin)))
	if err != nil {
		if ctx.Err() == nil {
			_, err = m.fail(m.explain("listing", classify(err)))
		}
		return nil, err
	}
	return l, nil
}

// fail records that the path cannot be listed, and logs it when the reason is new. It returns the
// last listing and the error.
func (m *Mirror) fail(err error) (*listing, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	err = status.New(status.Unavailable, "%w%s", err, m.offlineHint(err))
	m.stats.failures.Add(1)
	if m.failure == nil {
		m.since = time.Now()
	}
	if m.startOffline(err) {
		m.failure = err
		return m.last, err
	}
	if m.last != nil && (m.failure == nil || m.failure.Error() != err.Error()) {
		m.opts.Log.Error(err.Error() + "; its loaded models continue to serve")
	}
	m.failure = err
	return m.last, err
}

// succeed records a listing. The caller holds m.mu.
func (m *Mirror) succeed(l *listing) {
	if m.failure != nil && m.last != nil {
		m.opts.Log.Info(fmt.Sprintf("%s can be listed again, after %s", m.source, time.Since(m.since).Round(time.Second)))
	}
	if m.last == nil || len(m.last.refused) != len(l.refused) {
		for _, err := range l.refused {
			m.opts.Log.Warn(fmt.Sprintf("%s: %s", m.source, err))
		}
	}
	m.last, m.failure, m.checked, m.offline = l, nil, time.Time{}, false
}
