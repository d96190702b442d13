package infer

// Chooser picks the version for a request that names none, by the content of the request:
// for canaries, or for tenants with versions of their own. It runs on the request's goroutine
// and must not block, keep r or change r.
type Chooser interface {
	// Choose returns the index of one of the ready versions. There are at least two, in
	// ascending order, so the last is the newest. An index out of range selects the
	// newest.
	Choose(r *Request, ready []Model) int
}

// versionChooser is a Model that represents all ready versions of a model until one is
// chosen.
type versionChooser interface {
	// Choose returns the chosen version. The caller's reference becomes one to it.
	Choose(r *Request) Model
}

// Choose returns the version of m that answers r. It is called after r is decoded, and
// returns m itself when the client named a version or the server has no Chooser. The
// caller's reference to m becomes one to the result.
func Choose(m Model, r *Request) Model {
	if v, ok := m.(versionChooser); ok {
		return v.Choose(r)
	}
	return m
}
