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

// Headers are the headers of an HTTP request, or the metadata of a gRPC call.
type Headers interface {
	// HeaderValue returns the first value of a header, by its name in lower case; empty
	// without one.
	HeaderValue(name string) string
}

// versionChooser is a Model that represents all ready versions of a model, or several
// models, until one is chosen.
type versionChooser interface {
	// Choose returns the chosen version. The caller's reference becomes one to it. It
	// does not keep h, which is nil for a caller without headers.
	Choose(r *Request, h Headers) Model
}

// Choose is ChooseBy for a caller without headers.
func Choose(m Model, r *Request) Model { return ChooseBy(m, r, nil) }

// ChooseBy returns the version that answers r, of the model that m represents. It is
// called after r is decoded, and returns m itself when the client named a version or the
// model has neither rules nor a Chooser. The caller's reference to m becomes one to the
// result.
func ChooseBy(m Model, r *Request, h Headers) Model {
	if v, ok := m.(versionChooser); ok {
		return v.Choose(r, h)
	}
	return m
}
