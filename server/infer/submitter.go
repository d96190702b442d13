package infer

import "context"

// Submitter finds the models that a model calls while it serves a request: the steps of
// an ensemble, or any model that a backend names. A model may be used until Release, even
// when it is unloaded or replaced meanwhile, and requests submitted on behalf of an
// accepted request are accepted while the server drains. A reference must not outlive the
// request, or the model is never closed.
type Submitter interface {
	// Acquire returns a ready version of a model with a reference. An empty version
	// selects the newest.
	Acquire(model, version string) (Callee, error)
}

// Callee is a model that another model calls.
type Callee interface {
	Model
	// Ready reports whether it can serve requests now.
	Ready() bool
	// CheckReady calls the readiness checks of the instances and returns why the model
	// takes no requests; nil when it takes them. It may take seconds.
	CheckReady() error
}

// Controller lets a model load and unload models. Its methods are those of Service.
type Controller interface {
	ModelReady(name, version string) (bool, error)
	Load(ctx context.Context, name string, o LoadOptions) error
	Unload(ctx context.Context, name string, dependents bool) error
}
