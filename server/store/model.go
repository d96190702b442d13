// Package store holds models: it lists them, identifies their content and gives local directories with
// their files. Paths is a store of repository paths, each a Place; OpenDir is the place of a directory on
// this machine, and a Watcher tells that something was changed in one. Scratch holds the files that come
// with a load. It reads no configuration and loads nothing.
package store

import "sync/atomic"

// Model is a model as a store lists it.
type Model struct {
	ID ID
	// Location is where the store keeps the model; for a directory of this machine, the model's directory.
	Location string
	// Ambiguous reports whether the store has several models of this ID. Location is the
	// location of one of them.
	Ambiguous bool

	// Of a model of Paths.
	place  Place
	folder string
}

// Local reports whether Location is a directory of this machine.
func (m *Model) Local() bool {
	_, local := m.place.(dir)
	return local || m.place == nil
}

// Folder is a local directory with files of a model and a reference count. The last Release
// returns it to its store. Hold and Release of a nil Folder have no effect.
type Folder struct {
	Dir string
	// Fixed reports that nothing changes the files while the folder is held. Their inodes may
	// change, because others link them.
	Fixed bool

	refs atomic.Int32
	free func()
}

// NewFolder returns a folder with one reference, which the caller has. The last Release calls
// free, unless it is nil.
func NewFolder(dir string, free func()) *Folder {
	f := &Folder{Dir: dir, free: free}
	f.refs.Store(1)
	return f
}

// NewFixedFolder returns a folder whose files nothing changes.
func NewFixedFolder(dir string, free func()) *Folder {
	f := NewFolder(dir, free)
	f.Fixed = true
	return f
}

// Hold takes another reference. The caller has one.
func (f *Folder) Hold() *Folder {
	if f != nil {
		f.refs.Add(1)
	}
	return f
}

// Release releases a reference.
func (f *Folder) Release() {
	if f == nil {
		return
	}
	switch n := f.refs.Add(-1); {
	case n == 0 && f.free != nil:
		f.free()
	case n < 0:
		panic("store: folder released more often than held")
	}
}
