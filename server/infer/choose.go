package infer

// Chooser picks the version that answers a request whose client named none, after it
// has seen the request: a canary, a shadow, the version of a tenant. It is called on
// the request's goroutine, must not block, keep r or change it.
type Chooser interface {
	// Choose returns the index of one of the ready versions, which are in ascending
	// order and at least two; the last is the newest. An index out of range is that
	// of the newest.
	Choose(r *Request, ready []Model) int
}

// versions is a Model that stands for several versions of it.
type versions interface {
	// Choose gives the reference to it for one to the version that is to answer.
	Choose(r *Request) Model
}

// Choose returns the version of m that is to answer a request, whose tensors are
// decoded. The caller's reference to m becomes one to the result. It is m itself
// when the client named a version and when the server has no rule.
func Choose(m Model, r *Request) Model {
	if v, ok := m.(versions); ok {
		return v.Choose(r)
	}
	return m
}
