package model

import (
	"sync/atomic"

	"triton/server/backend"
)

// engine is a model of a backend. Versions share it when instances are replaced; the last one
// closes it.
type engine struct {
	backend.Model
	backend backend.Backend // that made it
	refs    atomic.Int32
}

func share(b backend.Backend, m backend.Model) *engine {
	e := &engine{Model: m, backend: b}
	e.refs.Store(1)
	return e
}

// Close closes the engine if no other version uses it.
func (e *engine) Close() error {
	if e.refs.Add(-1) > 0 {
		return nil
	}
	return e.Model.Close()
}

// Memory returns the memory that the model reports.
func (e *engine) Memory() []backend.Memory {
	if m, ok := e.Model.(backend.MemoryReporter); ok {
		return m.Memory()
	}
	return nil
}

var _ backend.MemoryReporter = (*engine)(nil)
