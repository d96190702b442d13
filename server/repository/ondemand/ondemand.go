// Package ondemand loads models when the first request needs them and unloads idle ones to make
// room. It decides when and which, predicts how much memory a model needs, and keeps the count of it;
// package repository loads and unloads.
//
// A load passes these states. All requests that need the model wait for the same load.
//
//	Joined    -> the store is asked for the model: unknown, failed before, or what it needs
//	Queued    -> waits for memory: idle models are evicted; ends when no request waits for it
//	Loading   -> continues although no request waits for it any more
//	Done      -> the model is held until the requests that waited have taken it
package ondemand

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Models are the models that a Manager loads and unloads. The methods are called without locks and
// may be slow, except Hold.
type Models interface {
	// Target finds a model in the store and what a load needs.
	Target(ctx context.Context, name string) (Target, error)
	// Load loads a model and the models of its steps, until ctx ends.
	Load(ctx context.Context, name string) error
	// Unload takes a model out of service, and the ensembles that need it, unless one of them
	// is busy. pending reports whether their memory is still in use.
	Unload(name string) (pending func() bool, unloaded bool)
	// Loaded returns the models that are loaded, by name.
	Loaded() []Model
	// Hold keeps a model and the models of its steps from being unloaded until release.
	Hold(name string) (release func())
}

// Target is a model that a request needs.
type Target struct {
	Known bool // the store has it
	// Content differs when the files of the model or of its steps do.
	Content string
	// Members are the model and the models of its steps.
	Members  []Member
	Priority int
}

// Member is a model that a target consists of.
type Member struct {
	Name   string
	Loaded bool
	Need   Bytes // estimate for a load
}

// Model is a loaded model.
type Model struct {
	Name  string
	Bytes Bytes // measured, else estimated
	// Uses is the number of requests since the load.
	Uses uint64
	// Busy reports whether requests hold the model, or sequences are open.
	Busy bool
	// With are the ensembles that need the model: they are unloaded with it.
	With     []string
	Ensemble bool // it has no memory of its own
	// Lasting reports that the model could not be loaded again, because its files came with a
	// load.
	Lasting bool
	// LoadTime is how long the load took.
	LoadTime time.Duration
	Settings
}

// Settings are the part of a model's configuration for this package.
type Settings struct {
	Pinned bool
	// KeepAlive is the time after which an idle model is unloaded; negative: never; nil: the
	// default.
	KeepAlive *time.Duration
	Priority  int
}

// Options configure a Manager.
type Options struct {
	Models Models
	Budget Bytes
	// KeepAlive is the time after which an idle model is unloaded; negative: never.
	KeepAlive time.Duration
	// Pinned are the models that are loaded at the start and never unloaded.
	Pinned []string
	// Timeout is the longest time that a request waits for a load; MaxWaiting the number of
	// requests that may wait at a time.
	Timeout    time.Duration
	MaxWaiting int
	// RetryDelay is the pause after the first failed load; it doubles. 0: a second.
	RetryDelay time.Duration
	Log        *slog.Logger
}

// The intervals.
const (
	retryDelay    = time.Second
	maxRetryDelay = time.Minute
	checkInterval = 250 * time.Millisecond // between two looks at the files of a model that failed
	unknownTime   = time.Second            // how long an unknown name is not looked up again
	maxUnknown    = 10000                  // names that are remembered as unknown
	pollInterval  = 2 * time.Millisecond   // between two looks for idle models while a load waits
	sweepInterval = time.Second            // between two looks at the keep-alive times
	minSweep      = 20 * time.Millisecond
)

// Manager loads models on demand.
type Manager struct {
	opts Options
	life context.Context
	end  context.CancelFunc
	wg   sync.WaitGroup

	mu       sync.Mutex // guards all below; never held over a call of Models besides Hold
	ended    bool
	flights  map[string]*flight
	waiting  int // requests
	queue    []*place
	reserved map[string]*reservation
	closing  []closing
	leaving  map[string]Bytes // models that are being unloaded
	failed   map[string]*failure
	unknown  map[string]time.Time
	usage    map[string]*usage
	reasons  map[string]string
	book     *useBook
	counts   Counts
	recent   recent
	changed  chan struct{} // closed at a change that may let a load continue
	changes  uint64
}

// New returns a manager that does nothing until it is asked to. Start begins the keep-alive times.
func New(o Options) *Manager {
	m := &Manager{
		opts: o, flights: map[string]*flight{}, reserved: map[string]*reservation{}, failed: map[string]*failure{},
		unknown: map[string]time.Time{}, usage: map[string]*usage{}, reasons: map[string]string{}, leaving: map[string]Bytes{},
		book: newUseBook(o.Budget), changed: make(chan struct{}), counts: Counts{Evictions: map[Reason]uint64{}},
	}
	m.life, m.end = context.WithCancel(context.Background())
	return m
}

// Close ends the loads that wait, and the keep-alive times, and waits for them.
func (m *Manager) Close() {
	m.mu.Lock()
	m.ended = true
	m.mu.Unlock()
	m.end()
	m.wg.Wait()
}

// start runs a goroutine that Close waits for. It returns false if the manager is closed. The
// caller holds m.mu.
func (m *Manager) start(run func()) bool {
	if m.ended {
		return false
	}
	m.wg.Go(run)
	return true
}

// wake lets the loads that wait look again. The caller holds m.mu.
func (m *Manager) wake() {
	m.changes++
	close(m.changed)
	m.changed = make(chan struct{})
}

// Wake lets the loads that wait look again, because the memory of a model was freed.
func (m *Manager) Wake() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wake()
}

// Changed forgets what is known about unknown and failed models, because the store was polled.
func (m *Manager) Changed() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.unknown)
	for _, f := range m.failed {
		f.checked = time.Time{}
	}
}
