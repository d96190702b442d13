package mirror

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"slices"
	"sort"
	"strings"

	"triton/server/store"
	"triton/server/store/remote"
)

// listing is all models of a path at one time. It is not changed.
type listing struct {
	models  map[string]*folder
	folders []string // sorted
	refused []error  // names that are no folders
}

// folder is a model of a listing.
type folder struct {
	files []remote.Object // Name is the name of the object below the path
	empty []string        // folders below the model's that have a marker, relative to it
	stamp store.Stamp
	err   error // why the model cannot be used
}

// newListing sorts objects by model.
func newListing(objects []remote.Object) *listing {
	l := &listing{models: map[string]*folder{}}
	objects = slices.Clone(objects)
	sort.Slice(objects, func(i, j int) bool { return objects[i].Name < objects[j].Name })
	for _, o := range objects {
		name, rest, nested := strings.Cut(o.Name, "/")
		if !nested {
			continue // a file beside the models
		}
		if err := CheckName(name); err != nil {
			l.refused = append(l.refused, fmt.Errorf("%w (object %q)", err, o.Name))
			continue
		}
		m := l.models[name]
		if m == nil {
			m = &folder{}
			l.models[name] = m
		}
		m.add(o, rest)
	}
	l.folders = slices.Sorted(maps.Keys(l.models))
	for name, m := range l.models {
		m.finish(name)
	}
	return l
}

// add adds an object; rest is its name below the model's folder.
func (m *folder) add(o remote.Object, rest string) {
	if rest == "" { // the marker of the model's own folder
		return
	}
	marker, isMarker := strings.CutSuffix(rest, "/")
	if err := CheckName(marker); err != nil && m.err == nil {
		m.err = fmt.Errorf("object %q: %w", o.Name, err)
	}
	if isMarker {
		m.empty = append(m.empty, marker)
		return
	}
	m.files = append(m.files, o)
}

// finish drops the objects that mark folders, refuses names that are a file and a folder, and
// makes the stamp.
func (m *folder) finish(name string) {
	folders := map[string]bool{}
	for _, f := range m.files {
		addParents(folders, below(f, name))
	}
	for _, e := range m.empty {
		folders[e] = true
		addParents(folders, e)
	}
	m.files = slices.DeleteFunc(m.files, func(f remote.Object) bool {
		conflict := folders[below(f, name)]
		if conflict && f.Size > 0 && m.err == nil {
			m.err = fmt.Errorf("object %q is a file, and other objects have it as a folder", f.Name)
		}
		return conflict
	})
	if m.err == nil {
		m.stamp = m.makeStamp(name, folders)
	}
}

func addParents(folders map[string]bool, path string) {
	for i := strings.LastIndexByte(path, '/'); i >= 0; i = strings.LastIndexByte(path, '/') {
		path = path[:i]
		folders[path] = true
	}
}

// below returns the name of an object below its model's folder.
func below(o remote.Object, model string) string { return o.Name[len(model)+1:] }

// makeStamp makes an entry for each file and folder in the model's folder. As in a local folder, files
// beside the versions that are not complete by their name are left out. It does not use the times of
// the objects: they are of another clock, and of an upload in parts S3 has the time of its begin.
func (m *folder) makeStamp(name string, folders map[string]bool) store.Stamp {
	sums, partial := map[string]hash.Hash{}, map[string]string{}
	add := func(path, tag string, size int64) {
		top, _, _ := strings.Cut(path, "/")
		if sums[top] == nil {
			sums[top] = sha256.New()
		}
		fmt.Fprintf(sums[top], "%q %q %d\n", path, tag, size)
	}
	uploaded := len(m.files) == 0 || m.files[0].Digest == "" // else the files have digests: they are complete
	for _, f := range m.files {
		path := below(f, name)
		top, within, _ := strings.Cut(path, "/")
		if uploaded && partial[top] == "" && isPartial(within) {
			partial[top] = within
		}
		add(path, f.Tag, f.Size)
	}
	for _, e := range slices.Sorted(maps.Keys(folders)) {
		add(e, "", 0)
	}
	if uploaded {
		maps.DeleteFunc(sums, func(top string, _ hash.Hash) bool { return store.IsPartial(top) })
	}
	stamp := store.Stamp{"": {Dir: true}}
	for top, sum := range sums {
		stamp[top] = store.Entry{Tag: hex.EncodeToString(sum.Sum(nil)[:16]), Dir: folders[top], Partial: partial[top]}
	}
	return stamp
}

// isPartial reports whether a file, or a folder on the way to it, is not complete by its name.
func isPartial(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if store.IsPartial(part) {
			return true
		}
	}
	return false
}
