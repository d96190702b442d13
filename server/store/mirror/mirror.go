// Package mirror makes the models of remote repository paths usable on this machine. A Mirror lists a
// path, identifies each model by the names and tags of its objects, and fetches what a load needs: a
// Downloader brings it into the Cache, a folder that several processes share. While a path cannot be
// listed, what it had last stays.
package mirror

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"triton/server/store"
	"triton/server/store/remote"
)

// Options configure a Mirror.
type Options struct {
	Cache    *Cache
	Download *Downloader
	Log      *slog.Logger
	// KeepLast makes a path that cannot be listed look unchanged, once it has been listed: polls
	// go on with the other paths. Else its models are errors, which clients that load them see.
	KeepLast bool
	// Offline lets a path that cannot be reached at the start have the models that an earlier process
	// has listed; their files come from the cache.
	Offline bool
	// Patience is how long a listing may take once there is an earlier one (20 s); afterwards the
	// caller goes on and the listing continues. While a path cannot be listed the time is Retry (2 s).
	Patience, Retry time.Duration
}

// Mirror is a remote repository path. It is a store.Place.
type Mirror struct {
	opts   Options
	source remote.Source
	loads  chan struct{} // versions that are fetched
	life   context.Context
	end    context.CancelFunc
	work   sync.WaitGroup
	stats  counters

	mu      sync.Mutex
	now     *flight // the listing under way
	next    *flight // the one after it: now may have begun before the caller's changes
	last    *listing
	offline bool   // last is that of an earlier process
	noted   []byte // the listing that the cache keeps; used by list
	failure error  // of the last listing; nil: it succeeded
	since   time.Time
	checked time.Time // when Check has listed, unless a List has returned that since
	busy    map[string]*activity

	lastRetryLog time.Time
}

type counters struct {
	bytes, nanoseconds, retries, failures, listings, listTime atomic.Int64
}

// Stats are the counters of a mirror.
type Stats struct {
	Path              string
	Up                bool // the last listing succeeded
	Bytes             int64
	Seconds           float64 // with a download
	Listings          int64
	ListSeconds       float64
	Failures, Retries int64 // of listings and downloads, of single requests
}

// Plus returns the counters of two mirrors of one path, of which other is the later one.
func (s Stats) Plus(other Stats) Stats {
	other.Bytes += s.Bytes
	other.Seconds += s.Seconds
	other.Listings += s.Listings
	other.ListSeconds += s.ListSeconds
	other.Failures += s.Failures
	other.Retries += s.Retries
	return other
}

// New returns the mirror of a source.
func New(source remote.Source, o Options) *Mirror {
	if o.Patience == 0 {
		o.Patience = 20 * time.Second
	}
	if o.Retry == 0 {
		o.Retry = 2 * time.Second
	}
	m := &Mirror{opts: o, source: source, loads: make(chan struct{}, fetchVersions), busy: map[string]*activity{}}
	m.opts.Download = o.Download.Observed(m.retried)
	m.life, m.end = context.WithCancel(context.Background())
	return m
}

var _ store.Place = (*Mirror)(nil)

// Close ends what is under way.
func (m *Mirror) Close() error {
	m.mu.Lock() // no listing begins after this
	m.end()
	m.mu.Unlock()
	m.work.Wait()
	if c, ok := m.source.(remote.Closer); ok {
		return c.Close()
	}
	return nil
}

// Location returns the path of a folder.
func (m *Mirror) Location(folder string) string { return m.source.String() + "/" + folder }

// Stats returns the counters.
func (m *Mirror) Stats() Stats {
	m.mu.Lock()
	up := m.last != nil && m.failure == nil
	m.mu.Unlock()
	c := &m.stats
	return Stats{
		Path: m.source.String(), Up: up, Bytes: c.bytes.Load(), Seconds: time.Duration(c.nanoseconds.Load()).Seconds(),
		Listings: c.listings.Load(), ListSeconds: time.Duration(c.listTime.Load()).Seconds(), Failures: c.failures.Load(), Retries: c.retries.Load(),
	}
}

// retryLog is the least time between two lines of the log about failures that are repeated.
const retryLog = 10 * time.Second

// retried counts a failure that is repeated.
func (m *Mirror) retried(object string, err error) {
	m.stats.retries.Add(1)
	m.mu.Lock()
	due := time.Since(m.lastRetryLog) >= retryLog
	if due {
		m.lastRetryLog = time.Now()
	}
	m.mu.Unlock()
	if due && m.life.Err() == nil {
		m.opts.Log.Warn(fmt.Sprintf("%s: %s: %s; trying again", m.source, object, err))
	}
}

// errClosed reports a path that was unregistered.
var errClosed = errors.New("the repository path is closed")

// explain adds to an error of a source what a user can do about it.
func (m *Mirror) explain(doing string, err error) error {
	hint := ""
	switch {
	case errors.Is(err, remote.ErrRefused):
	case errors.Is(err, remote.ErrDenied):
		hint = "; check the credentials of the server (docs/repositories.md), and that they may list and read this path"
	case errors.Is(err, remote.ErrNotFound):
		hint = "; check the name of the bucket or container and of the path in it"
	case errors.Is(err, errUnreachable):
		hint = "; check the address, the network and the proxy settings"
	}
	return fmt.Errorf("%s %s: %w%s", doing, m.source, err, hint)
}
