package repository

import "cmp"

// modelID is what tells models apart. The space is the repository path of a
// model when paths are namespaces, else empty.
type modelID struct{ space, name string }

// String is the name as the log and most errors show it.
func (i modelID) String() string {
	if i.space == "" {
		return i.name
	}
	return i.space + "::" + i.name
}

func compareIDs(a, b modelID) int {
	return cmp.Or(cmp.Compare(a.space, b.space), cmp.Compare(a.name, b.name))
}
