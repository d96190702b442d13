package infer

// Chooser picks the version that answers a request without a version, from the request
// itself: a canary, a shadow, the version of a tenant. It runs on the request's goroutine
// and must not block, keep r or change r.
type Chooser interface {
	// Choose returns the index of one of the ready versions. There are at least two, in
	// ascending order, so the last is the newest. An index out of range selects the
	// newest.
	Choose(r *Request, ready []Model) int
}

// versionChooser is a Model that stands for all ready versions of a model.
type versionChooser interface {
	// Choose exchanges the caller's reference for one to the chosen version.
	Choose(r *Request) Model
}

// Choose returns the version of m that answers the request, whose tensors are decoded.
// The caller's reference to m becomes one to the result. It returns m itself when the
// client named a version or the server has no Chooser.
func Choose(m Model, r *Request) Model {
	if v, ok := m.(versionChooser); ok {
		return v.Choose(r)
	}
	return m
}
