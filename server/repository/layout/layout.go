// Package layout reads the models of a store: it lists them, finds and checks the
// configuration of each as far as that is possible without its backend, and picks the
// versions that the model's policy serves. It decides nothing and loads nothing.
package layout

import (
	"context"

	"triton/server/repository/agents"
	"triton/server/store"
)

// Store holds models. Its calls may be slow and may fail. Serving never waits for them, and
// they end with their context.
type Store interface {
	// List returns the models, sorted by ID. With an error it returns the models of the
	// parts of the store that it could read.
	List(ctx context.Context) ([]store.Model, error)
	// Stamp identifies the current content of a model. Content without a stamp counts as
	// changed.
	Stamp(ctx context.Context, m store.Model) (store.Stamp, error)
	// Fetch returns a local directory with the files of a model beside the version folders
	// and, unless the name is empty, with that version folder. The caller holds the
	// directory; it stays until it is released.
	Fetch(ctx context.Context, m store.Model, version string) (*store.Folder, error)
}

// Lookups is a store that can look up models by their names without listing all.
type Lookups interface {
	// Lookup returns the look-up, for one operation. It does not wait for the network, returns the models
	// that List returns for a name, by namespace, and an error if it could not see all of them. It is nil
	// if that is not possible now: then List says why.
	Lookup() func(name string) ([]store.Model, error)
}

var (
	_ Store   = (*store.Paths)(nil)
	_ Lookups = (*store.Paths)(nil)
)

// Reader reads the models of a store.
type Reader struct {
	Store Store
	// AutoComplete accepts models without a configuration file: their backends complete
	// the configuration.
	AutoComplete bool
	// ConfigName is the stem of the file in a model's folder configs that replaces
	// config.pbtxt; empty: none.
	ConfigName string
	// Namespacing lets models in different paths have the same name.
	Namespacing bool
	// Agents are the repository agents; nil: those of this program.
	Agents *agents.Agents
}
