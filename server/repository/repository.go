// Package repository turns model directories into models that serve: it scans
// them, reads and completes their configurations, loads the versions through
// their backends and takes them out of service again, checks every request
// against the model's signature, and answers the questions about models that
// the front ends ask. It does not queue or run requests; that is done by
// scheduler and instance.
package repository

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"triton/pkg/modelconfig"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/cache"
	"triton/server/infer"
	"triton/server/ratelimit"
	"triton/server/scheduler"
	"triton/server/stats"
)

// Options are what a repository needs.
type Options struct {
	// Paths are the directories whose subdirectories are models.
	Paths    []string
	Backends backend.Set
	// Settings are the --backend-config pairs by backend; those under the
	// empty name are for all.
	Settings map[string]map[string]string
	// AutoComplete lets backends fill in what configurations leave out.
	AutoComplete bool
	// LoadThreads bounds how many versions load at the same time.
	LoadThreads int
	// StrictReadiness makes the server unready while any model is.
	StrictReadiness bool
	Machine         modelconfig.Machine
	CPUs            int
	Pool            *tensor.Pool
	Log             *slog.Logger
	// Control says who loads models.
	Control Control
	// Startup is the models that are loaded at the start in explicit control;
	// "*" alone is all.
	Startup []string
	// LoadRetries is how often a failed load is tried again.
	LoadRetries int
	// ConfigName is the stem of the file in a model's folder configs that
	// replaces config.pbtxt; empty: none.
	ConfigName string
	// Namespacing lets models in different paths have the same name.
	Namespacing bool
	// GPULimits is the share of a GPU's memory above which loads are refused, by
	// GPU index; GPUUsage reads the share in use now.
	GPULimits map[int]float64
	GPUUsage  func(device int) (float64, error)
	// Capability is the CUDA compute capability of a GPU, such as "8.6"; empty when
	// it is not known.
	Capability func(device int) string
	// Limiter makes the instances of all models take turns; nil: they need not.
	Limiter *ratelimit.Limiter
	// Cache keeps the responses of models that ask for it; nil: none.
	Cache cache.Cache
	// NewAlarm makes the timers of queue delays; nil: NewPrecise. Virtual time needs
	// NewClock.
	NewAlarm func() scheduler.Alarm
	// Holds keep schedulers waiting, for test suites.
	Holds Holds
	// Stats is for the counters of model versions.
	Stats stats.Options
	// ID and Version are what the server says of itself.
	ID, Version string
	Extensions  []string
}

// Holds are how much waits before a new scheduler cuts its first batch: requests
// in a queue or in the slots of sequences and, besides, requests in the backlog
// of sequences. The zero value is no hold.
type Holds struct{ Requests, Backlog int }

// Control is who loads and unloads models after the start.
type Control uint8

// The control modes.
const (
	ControlNone     Control = iota // all at the start, no changes
	ControlPoll                    // the repository is watched: Poll looks once
	ControlExplicit                // Load and Unload
)

// phase is where the server is in its life.
type phase = int32

const (
	starting phase = iota
	ready
	failed
	settling // before exiting: sequences come to their end
	exiting
)

// serves says whether requests are answered.
func serves(p phase) bool { return p == ready || p == settling || p == exiting }

// Repository is the models of one server. It implements infer.Service.
//
// Requests see the view and take no lock. Whoever changes a model holds its
// name (names) and publishes a new view under mu.
type Repository struct {
	opts  Options
	phase atomic.Int32
	view  atomic.Pointer[view]

	names   names
	loading chan struct{} // a place for each version that loads now
	polling sync.Mutex
	scratch scratchSpace

	mu       sync.Mutex
	records  map[modelID]*record
	added    map[string]map[string]string // repository paths of Register, names by folder
	retiring map[*version]modelID         // out of service, not closed yet
	graph    map[modelID]*node            // what is wanted, and which ensembles need it

	// life ends when the repository drains: nothing is loaded after that. It is
	// here because loads and closings outlive the calls that began them.
	life  context.Context
	end   context.CancelFunc
	tasks tasks
}

// record is what is known of the directory that a model was loaded from.
type record struct {
	dir   string
	stamp stamp // nil: load in any case
}

var _ infer.Service = (*Repository)(nil)

// New makes an empty repository. Start fills it.
func New(o Options) *Repository {
	if o.NewAlarm == nil {
		o.NewAlarm = scheduler.NewPrecise
	}
	r := &Repository{
		opts: o, names: names{busy: map[string]chan struct{}{}}, loading: make(chan struct{}, max(o.LoadThreads, 1)),
		records: map[modelID]*record{}, retiring: map[*version]modelID{}, graph: map[modelID]*node{}, tasks: tasks{empty: make(chan struct{})},
	}
	r.life, r.end = context.WithCancel(context.Background())
	r.view.Store(&view{models: map[string][]*model{}})
	return r
}

// ErrLoad is found in Start's error when some model could not be loaded. The
// others serve.
var ErrLoad error = status.New(status.Internal, "failed to load all models")

func notFound(format string, args ...any) error {
	return status.New(status.NotFound, format, args...)
}
