package store

import "context"

// Place is one repository path: its folders are models. Its calls may be slow and may fail, and
// end with their context.
type Place interface {
	// Check returns an error if the path cannot serve models.
	Check(ctx context.Context) error
	// List returns the names of the folders. With an error it returns those of the last listing,
	// if there is one.
	List(ctx context.Context) ([]string, error)
	// Location returns where the place keeps a folder.
	Location(folder string) string
	// Stamp and Fetch are those of a store, for one folder.
	Stamp(ctx context.Context, folder string) (Stamp, error)
	Fetch(ctx context.Context, folder, version string) (*Folder, error)
	// Close ends background work. Fetched folders stay until they are released.
	Close() error
}

// Opener opens the place of a repository path. It does not wait for the network.
type Opener func(path string) (Place, error)
