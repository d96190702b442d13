// Package repository turns model directories into models that serve: it scans
// them, reads and completes their configurations, loads the versions through
// their backends and takes them out of service again, checks every request
// against the model's signature, and answers the questions about models that
// the front ends ask. It does not queue or run requests; that is done by
// scheduler and instance.
package repository

import (
	"context"
	"sync"
	"sync/atomic"

	"triton/pkg/status"
	"triton/server/infer"
	"triton/server/model"
	"triton/server/repository/actual"
	"triton/server/repository/desired"
	"triton/server/repository/layout"
	"triton/server/repository/plan"
	"triton/server/store"
)

// Options are what a repository needs.
type Options struct {
	model.Options
	// Paths are the directories whose subdirectories are models. Store replaces
	// them when the models lie elsewhere.
	Paths []string
	Store layout.Store
	// LoadThreads bounds how many versions load at the same time.
	LoadThreads int
	// StrictReadiness makes the server unready while any model is.
	StrictReadiness bool
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
	// Chooser picks the version for requests whose client named none; nil: the
	// newest.
	Chooser infer.Chooser
	// ID and Version are what the server says of itself.
	ID, Version string
	Extensions  []string
}

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
// Requests see the actual state and take no lock. An operation holds the names of the
// models that it changes.
type Repository struct {
	opts   Options
	phase  atomic.Int32
	actual *actual.State

	builder *model.Builder
	names   names
	loading chan struct{} // a place for each version that loads now
	polling sync.Mutex
	reader  layout.Reader
	local   *store.Local // the store, when it is one of directories
	listed  atomic.Pointer[[]store.Model]
	scratch store.Scratch

	mu       sync.Mutex
	desired  desired.State
	outcomes map[store.ID]*plan.Outcome
	retiring map[*model.Loaded]store.ID // out of service, not closed yet

	// life ends when the repository drains: nothing is loaded after that. It is
	// here because loads and closings outlive the calls that began them.
	life  context.Context
	end   context.CancelFunc
	tasks tasks
}

var _ infer.Service = (*Repository)(nil)

// New makes an empty repository. Start fills it.
func New(o Options) *Repository {
	r := &Repository{
		opts: o, actual: actual.New(actual.Options{Namespacing: o.Namespacing, Chooser: o.Chooser, Log: o.Log}), builder: model.NewBuilder(o.Options), names: names{busy: map[string]chan struct{}{}, watches: map[*watch]struct{}{}}, loading: make(chan struct{}, max(o.LoadThreads, 1)),
		desired: desired.State{}, outcomes: map[store.ID]*plan.Outcome{}, retiring: map[*model.Loaded]store.ID{}, tasks: tasks{empty: make(chan struct{})},
		reader: layout.Reader{Store: o.Store, AutoComplete: o.AutoComplete, ConfigName: o.ConfigName, Namespacing: o.Namespacing},
	}
	if o.Store == nil {
		r.local = store.NewLocal(o.Paths, o.Namespacing)
		r.reader.Store = r.local
	}
	r.life, r.end = context.WithCancel(context.Background())
	return r
}

// ErrLoad is found in Start's error when some model could not be loaded. The
// others serve.
var ErrLoad error = status.New(status.Internal, "failed to load all models")
