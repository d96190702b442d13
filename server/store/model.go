// Package store is where models lie: their names, what identifies their content,
// and local directories with their files. Local is a store of directories on this
// machine; Scratch keeps the files that come with a load. It reads no
// configuration and loads nothing.
package store

import "sync/atomic"

// Model is a model as a store lists it.
type Model struct {
	ID ID
	// Location is where the store keeps the model. Local's is its directory.
	Location string
	// Ambiguous reports whether the store has several models of this ID; Location
	// is that of one of them.
	Ambiguous bool
}

// Folder is a local directory with files of a model. The last holder gives it
// back to its store. A nil Folder is held and released without effect.
type Folder struct {
	Dir  string
	refs atomic.Int32
	free func()
}

// NewFolder returns a folder that the caller holds. Free is called after the last
// Release; nil: nothing is to be done.
func NewFolder(dir string, free func()) *Folder {
	f := &Folder{Dir: dir, free: free}
	f.refs.Store(1)
	return f
}

// Hold takes one more reference. The caller has one.
func (f *Folder) Hold() *Folder {
	if f != nil {
		f.refs.Add(1)
	}
	return f
}

// Release gives a reference back.
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
