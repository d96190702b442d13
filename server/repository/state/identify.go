package state

import (
	"slices"

	"triton/pkg/status"
	"triton/server/store"
)

// Identify returns the model that a name means for a caller in a namespace, whether it is loaded or
// not: that of the namespace, else the only one of the name. A name that no model has stands for a
// model without a namespace; a name that several models have is an error.
func (s *Actual) Identify(namespace, name string) (store.ID, error) {
	if s.opts.Listed == nil {
		return store.ID{Name: name}, nil
	}
	id, n := s.identify(s.current.Load(), namespace, name)
	if n > 1 {
		return store.ID{}, ambiguous(n, name)
	}
	return id, nil
}

// identify also returns how many models the name may mean. What it means must not depend on what
// happens to be loaded, so the models that are not loaded count too.
func (s *Actual) identify(now *Snapshot, namespace, name string) (id store.ID, n int) {
	listed := s.opts.Listed(name)
	for _, l := range listed {
		if namespace != "" && l.Namespace == namespace {
			return l, 1
		}
		id = l
	}
	n = len(listed)
	for _, m := range now.Named(name) { // a client may have loaded it with its files
		if m.Desired && !slices.Contains(listed, m.ID) {
			id = m.ID
			n++
		}
	}
	if n == 0 {
		id = store.ID{Name: name}
	}
	return id, n
}

func ambiguous(n int, name string) error {
	return status.New(status.InvalidArg,
		"There are %d identifiers of model '%s' in global map, model namespace must be provided to resolve ambiguity.", n, name)
}
