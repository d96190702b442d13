// Package repository brings the actual state of a server's models to the desired state:
// start, poll, load and unload edit the desired state by what survey has found in the store, and
// carryOut loads and unloads what the edit requires. It answers the questions of frontends about models. It does not queue or
// run requests.
package repository

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/server/infer"
	"triton/server/model"
	"triton/server/readiness"
	"triton/server/repository/agents"
	"triton/server/repository/layout"
	"triton/server/repository/ondemand"
	"triton/server/repository/state"
	"triton/server/store"
)

// Options configure a Repository.
type Options struct {
	model.Options
	// RequireLibraries makes Start fail also if models lack nothing but the library of their backend.
	RequireLibraries bool
	// Paths are the directories whose subdirectories are models. Open opens them; nil: all are
	// on this machine.
	Paths []string
	Open  store.Opener
	// Store has the models instead of Paths; nil: Paths have them.
	Store layout.Store
	// LoadThreads bounds how many versions load at the same time.
	LoadThreads int
	// StrictReadiness makes the server unready while any model is not ready.
	StrictReadiness bool
	// Readiness replaces StrictReadiness, unless its mode is readiness.Triton.
	Readiness readiness.Policy
	// Control says which operations load and unload models after the start.
	Control Control
	// Startup are the names of the models that are loaded at the start in explicit
	// control; "*" alone stands for all models.
	Startup []string
	// LoadRetries is the number of times that a failed load is repeated.
	LoadRetries int
	// ConfigName is the stem of the file in a model's folder configs that replaces
	// config.pbtxt; empty: config.pbtxt is used.
	ConfigName string
	// Namespacing lets models in different paths have the same name.
	Namespacing bool
	// Chooser picks the version for requests without a version; nil: the newest.
	Chooser infer.Chooser
	// Changed and Resolve are those of state.ActualOptions, for traffic rules.
	Changed func(model string, newest *inferencepb.ModelConfig)
	Resolve func(model string) (name, version string)
	// SettleTime is how long the files of a model must be unchanged before a poll loads them.
	SettleTime time.Duration
	// Demand configures ControlAuto.
	Demand Demand
	// GPUMemory returns the memory of a process on a GPU; nil: it is not known.
	GPUMemory func(device, pid int) (bytes int64, known bool)
	// MemoryRecord is a file with the measured memory of models, for estimates after a restart;
	// empty: none.
	MemoryRecord string
	// Agents are the repository agents; nil: those of this program.
	Agents *agents.Agents
	// Closed is called after each version that was closed, on any goroutine; nil: nothing is.
	Closed func()
	// ID, Version and Extensions are the metadata of the server.
	ID, Version string
	Extensions  []string
}

// Control says which operations load and unload models after the start.
type Control uint8

// The control modes.
const (
	ControlNone     Control = iota // no operation: all models are loaded at the start
	ControlPoll                    // Poll
	ControlExplicit                // Load and Unload
	ControlAuto                    // Load, Unload and Poll; requests load models
)

// phase is the phase of the server's life.
type phase = int32

const (
	starting phase = iota
	ready
	failed
	draining  // not ready any more, everything is still accepted
	finishing // open sequences finish before the server exits
	exiting
)

// answers reports whether requests are answered in a phase.
func answers(p phase) bool { return p == ready || p >= draining }

// Repository is the models of one server. It implements infer.Service.
//
// Requests see the actual state and take no lock. An operation holds the names of the
// models that it may change.
type Repository struct {
	opts  Options
	phase atomic.Int32
	// failure is why the start failed, in the phase failed.
	failure  atomic.Pointer[error]
	actual   *state.Actual
	policy   atomic.Pointer[readiness.Policy] // decides about readiness
	progress progress                         // what loads

	builder     *model.Builder
	locks       nameLocks
	clientLoads loads
	places      chan struct{}            // has an element for each version that loads
	polling     sync.Mutex               // held by a poll; guards settling and lastSeen
	settling    state.SettleTracker      // what polls wait for
	lastSeen    map[store.ID]store.Stamp // what the last poll, or the start, saw standing still, loaded or not; absent: a poll left it behind
	leftBehind  atomic.Bool              // a poll has left changes to a later one, because the models were being loaded
	loadEnded   chan struct{}            // tells KeepPolling then that a load has ended
	updating    sync.Map                 // the models that polls on demand are changing, by store.ID
	reader      layout.Reader
	paths       *store.Paths                          // the reader's store if it is made of Paths, else nil
	listed      atomic.Pointer[[]store.Model]         // by the last listing without error
	names       atomic.Pointer[map[string][]store.ID] // of the last listing; with namespaces and ControlAuto
	scratch     store.Scratch
	// newWatcher makes the watcher of the local folders.
	newWatcher func() watcher
	memory     *memory
	demand     *ondemand.Manager // nil without ControlAuto
	overrides  overrides
	keys       sync.Map // the models of package ondemand, store.ID by name there
	roster     atomic.Pointer[Roster]

	mu       sync.Mutex // guards the fields below
	desired  *state.Desired
	outcomes map[store.ID]*state.Outcome
	refused  map[store.ID]error                // why the last operation could not read a model's configuration
	waits    map[store.ID]*state.SettleWait    // what the last poll left for later
	retiring map[*model.LoadedVersion]store.ID // out of service, not closed yet

	// life ends when the repository drains: nothing is loaded after that. It is stored
	// because loads and closings outlive the calls that began them.
	life  context.Context
	end   context.CancelFunc
	tasks tasks
}

var _ infer.Service = (*Repository)(nil)

// New returns a repository without models. Start loads them.
func New(o Options) *Repository {
	r := &Repository{
		opts:   o,
		locks:  newNameLocks(),
		places: make(chan struct{}, max(o.LoadThreads, 1)),
		reader: layout.Reader{
			Store: o.Store, AutoComplete: o.AutoComplete, ConfigName: o.ConfigName, Namespacing: o.Namespacing, Agents: o.Agents,
		},
		desired:   state.NewDesired(),
		outcomes:  map[store.ID]*state.Outcome{},
		refused:   map[store.ID]error{},
		waits:     map[store.ID]*state.SettleWait{},
		lastSeen:  map[store.ID]store.Stamp{},
		loadEnded: make(chan struct{}, 1),
		retiring:  map[*model.LoadedVersion]store.ID{},
		tasks:     tasks{empty: make(chan struct{})},
	}
	seen := state.ActualOptions{Namespacing: o.Namespacing, Chooser: o.Chooser, Changed: o.Changed, Resolve: o.Resolve, Log: o.Log}
	if o.Namespacing && o.Control == ControlAuto {
		seen.Listed = r.listedAs
	}
	r.actual = state.NewActual(seen)
	r.newWatcher = r.systemWatcher
	r.settling.Time = o.SettleTime
	o.Controller = r
	r.builder = model.NewBuilder(o.Options)
	if o.Store == nil {
		if o.Open == nil {
			o.Open = store.OpenDir
		}
		r.paths = store.NewPaths(o.Paths, o.Namespacing, o.Open)
		r.reader.Store = r.paths
	}
	r.SetReadiness(o.Readiness)
	r.life, r.end = context.WithCancel(context.Background())
	r.memory = newMemory(&r.opts)
	r.startDemand()
	return r
}

// ErrLoad is Start's error if some models failed to load. The others serve.
var ErrLoad error = status.New(status.Internal, "failed to load all models")
