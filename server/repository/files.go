package repository

import (
	"context"
	"io/fs"
	"os"
	"strings"

	"triton/server/store"
)

// files are all files of a model, also those of versions that are not fetched yet:
// the first look at one fetches it.
type files struct {
	ctx     context.Context // of the operation that reads the model: fs.FS takes none
	store   Store
	content *content
	entries store.Stamp
	fetched map[string]*store.Folder
}

var _ fs.FS = (*files)(nil)

// Open opens a file.
func (f *files) Open(name string) (fs.File, error) {
	top, _, _ := strings.Cut(name, "/")
	if !store.IsVersion(top) || !f.entries[top].Dir {
		return os.DirFS(f.content.folder.Dir).Open(name)
	}
	folder := f.fetched[top]
	if folder == nil {
		var err error
		if folder, err = f.content.fetch(f.ctx, f.store, top); err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
		f.fetched[top] = folder
	}
	return os.DirFS(folder.Dir).Open(name)
}

// release gives up what was fetched.
func (f *files) release() {
	for _, folder := range f.fetched {
		folder.Release()
	}
}
