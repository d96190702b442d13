package model

import (
	"cmp"

	"triton/pkg/modelconfig"
	"triton/pkg/modelconfig/extension"
	"triton/pkg/status"
	"triton/server/backend"
)

// Isolation makes backends that run their models in child processes.
type Isolation interface {
	// Wrap returns a backend that runs the models of the backend of that name in child
	// processes with limits.
	Wrap(name string, limits extension.Process) (backend.Backend, error)
}

// processOwner is a backend whose models run in processes of their own.
type processOwner interface{ OwnsProcesses() }

// isolate returns the backend that runs a model in a child process, if the configuration or the
// server asks for it.
func (b *Builder) isolate(chosen foundBackend, c *modelconfig.Config) (foundBackend, error) {
	i, found := extension.ReadIsolation(c)
	if len(found) > 0 {
		return chosen, c.First(found)
	}
	if _, owns := chosen.Backend.(processOwner); owns || !b.isolates(i) {
		return chosen, nil
	}
	if b.opts.Isolation == nil {
		return chosen, status.New(status.Unsupported, "isolation=process: this program cannot run models in processes of their own")
	}
	var err error
	chosen.Backend, err = b.opts.Isolation.Wrap(cmp.Or(chosen.key, c.GetBackend()), i.Limits)
	return chosen, err
}

// isolates reports whether a model is to run in a child process, unless its backend has its own.
func (b *Builder) isolates(i extension.Isolation) bool {
	if i.Process != nil {
		return *i.Process
	}
	return b.opts.Isolate
}
