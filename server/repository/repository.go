// Package repository turns model directories into models that serve: it scans
// them, reads and completes their configurations, loads the versions through
// their backends, checks every request against the model's signature, and
// answers the questions about models that the front ends ask. It does not
// queue or run requests; that is done by scheduler and instance.
package repository

import (
	"log/slog"
	"sync"
	"sync/atomic"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/infer"
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
	// Stats is for the counters of model versions.
	Stats stats.Options
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
	exiting
)

// Repository is the models of one server. It implements infer.Service.
type Repository struct {
	opts  Options
	phase atomic.Int32
	// view is what requests see. A new one is published as a whole; a
	// published one is never changed.
	view atomic.Pointer[view]
	wg   sync.WaitGroup // goroutines that close versions
}

var _ infer.Service = (*Repository)(nil)

// New makes an empty repository. Start fills it.
func New(o Options) *Repository {
	r := &Repository{opts: o}
	r.view.Store(&view{models: map[string]*model{}})
	return r
}

// ErrLoad is found in Load's error when some model could not be loaded. The
// others serve.
var ErrLoad error = status.New(status.Internal, "failed to load all models")

// view is all models at one moment.
type view struct {
	models map[string]*model
	names  []string // of models, sorted
	index  []listed // what the repository index shows, sorted by name
}

// model is the versions of one name.
type model struct {
	name     string
	versions []*version // ascending
	any      *newest    // nil when none is ready
}

// newest is the highest ready version, as those get it who name no version: its
// metadata lists all ready ones.
type newest struct {
	*version
	all *inferencepb.ModelMetadataResponse
}

// Metadata lists all ready versions.
func (n *newest) Metadata() *inferencepb.ModelMetadataResponse { return n.all }

// listed is an entry of the index: a model of the view, or a directory that
// never came so far.
type listed struct {
	name   string
	model  *model
	reason string // for a name that stands in several repositories
}

// number finds a version by its number; nil when the model has none.
func (m *model) number(n int64) *version {
	for _, v := range m.versions {
		if v.number == n {
			return v
		}
	}
	return nil
}

// choose finds the highest ready version, after the versions have changed.
func (m *model) choose() {
	m.any = nil
	var texts []string
	var last *version
	for _, v := range m.versions {
		if v.state == stateReady {
			last, texts = v, append(texts, v.text)
		}
	}
	if last != nil {
		m.any = &newest{last, describe(last.config, texts...)}
	}
}

func notFound(format string, args ...any) error {
	return status.New(status.NotFound, format, args...)
}
