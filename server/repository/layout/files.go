package layout

import (
	"context"
	"io/fs"
	"os"
	"strings"

	"triton/server/store"
)

// files is a file system of all files of a model. A version is fetched when one of its
// files is opened.
type files struct {
	ctx     context.Context // of the operation that reads the model: fs.FS takes none
	store   Store
	content *Content
	entries store.Stamp
	fetched map[string]*store.Folder
}

var _ fs.FS = (*files)(nil)

// Open opens a file.
func (f *files) Open(name string) (fs.File, error) {
	top, _, _ := strings.Cut(name, "/")
	if !store.IsVersion(top) || !f.entries[top].Dir {
		return os.DirFS(f.content.Folder.Dir).Open(name)
	}
	folder := f.fetched[top]
	if folder == nil {
		var err error
		if folder, err = f.content.Fetch(f.ctx, f.store, top); err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
		f.fetched[top] = folder
	}
	return os.DirFS(folder.Dir).Open(name)
}

// release releases the fetched folders.
func (f *files) release() {
	for _, folder := range f.fetched {
		folder.Release()
	}
}
