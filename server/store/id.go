package store

import "cmp"

// ID identifies a model. Namespace is the model's repository path with namespacing, else empty.
type ID struct{ Namespace, Name string }

// String returns the name in the form of the log and of most errors.
func (i ID) String() string {
	if i.Namespace == "" {
		return i.Name
	}
	return i.Namespace + "::" + i.Name
}

// Compare orders IDs by namespace and name.
func Compare(a, b ID) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
