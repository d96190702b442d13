package store

import "cmp"

// ID identifies a model. Space is the model's repository path with namespacing, else empty.
type ID struct{ Space, Name string }

// String returns the name in the form of the log and of most errors.
func (i ID) String() string {
	if i.Space == "" {
		return i.Name
	}
	return i.Space + "::" + i.Name
}

// Compare orders IDs by space and name.
func Compare(a, b ID) int {
	return cmp.Or(cmp.Compare(a.Space, b.Space), cmp.Compare(a.Name, b.Name))
}
