package model

import (
	"sync/atomic"

	"triton/server/backend"
)

// engine is a loaded model that goes on when the instances are replaced. The
// last version that has it closes it.
type engine struct {
	backend.Model
	refs atomic.Int32
}

func share(m backend.Model) *engine {
	e := &engine{Model: m}
	e.refs.Store(1)
	return e
}

// Close closes the model when nobody else has it.
func (e *engine) Close() error {
	if e.refs.Add(-1) > 0 {
		return nil
	}
	return e.Model.Close()
}

// Memory is what the model says it holds.
func (e *engine) Memory() []backend.Memory {
	if m, ok := e.Model.(backend.MemoryReporter); ok {
		return m.Memory()
	}
	return nil
}

var _ backend.MemoryReporter = (*engine)(nil)
