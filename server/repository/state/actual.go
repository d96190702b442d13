package state

import (
	"log/slog"
	"sync"
	"sync/atomic"

	"triton/pkg/inferencepb"
	"triton/server/infer"
	"triton/server/store"
)

// ActualOptions configure an Actual.
type ActualOptions struct {
	// Namespacing lets models in different paths have the same name.
	Namespacing bool
	// Chooser picks the version for requests without a version; nil: the newest.
	Chooser infer.Chooser
	// Changed is called with the configuration of a model's newest version after each change
	// of the model, nil if none is ready; it must not block. nil: nothing is called.
	Changed func(model string, newest *inferencepb.ModelConfig)
	// Resolve returns the model and the version that a call of another model means when it
	// names no version; nil: the newest version of the model it names.
	Resolve func(model string) (name, version string)
	// Listed returns the models of a name that requests could load, with Namespacing; nil: a name
	// means only what is loaded.
	Listed func(name string) []store.ID
	Log    *slog.Logger
}

// Actual is the models of a server as they are now.
type Actual struct {
	opts    ActualOptions
	mu      sync.Mutex // held while a snapshot is replaced
	current atomic.Pointer[Snapshot]
}

// NewActual returns a state without models.
func NewActual(o ActualOptions) *Actual {
	s := &Actual{opts: o}
	s.current.Store(&Snapshot{})
	return s
}

// Snapshot returns the current snapshot.
func (s *Actual) Snapshot() *Snapshot { return s.current.Load() }

// Change publishes a snapshot in which one model is changed. The edit gets a copy of the
// model, without versions if the state does not have it.
func (s *Actual) Change(id store.ID, edit func(m *Model)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.current.Load()
	m := old.Model(id).copy(id)
	edit(m)
	m.findNewest(s.opts.Chooser, s.opts.Log)
	s.current.Store(old.with(m))
	if s.opts.Changed != nil {
		var config *inferencepb.ModelConfig
		if newest := m.Newest(); newest != nil {
			config = newest.Config()
		}
		s.opts.Changed(id.Name, config)
	}
}
