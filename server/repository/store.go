package repository

import (
	"context"

	"triton/server/store"
)

// Store is where models lie. Its calls may be slow and may fail: nothing that
// serves waits for them, and the end of the context ends them.
type Store interface {
	// List returns the models, sorted by ID; with an error, those of the parts of
	// the store that it could read.
	List(ctx context.Context) ([]store.Model, error)
	// Stamp identifies the content of a model as it is now. Content without a stamp
	// counts as changed.
	Stamp(ctx context.Context, m store.Model) (store.Stamp, error)
	// Fetch returns a local directory with the files of a model that lie beside the
	// version folders and, unless its name is empty, with one version folder. The
	// directory stays until the caller, who holds it, releases it.
	Fetch(ctx context.Context, m store.Model, version string) (*store.Folder, error)
}

var _ Store = (*store.Local)(nil)
