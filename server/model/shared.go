package model

import (
	"sync/atomic"

	"triton/pkg/tensor"
	"triton/server/backend"
)

// sharedModel is a backend's model, which several versions can use: a version whose instances
// are replaced and its successor. The last one closes it.
type sharedModel struct {
	backend.Model
	backend backend.Backend // that loaded it
	refs    atomic.Int32
}

func newSharedModel(b backend.Backend, m backend.Model) *sharedModel {
	s := &sharedModel{Model: m, backend: b}
	s.refs.Store(1)
	return s
}

// Close closes the model if no other version uses it.
func (s *sharedModel) Close() error {
	if s.refs.Add(-1) > 0 {
		return nil
	}
	return s.Model.Close()
}

// Memory returns the memory that the backend reports for the model.
func (s *sharedModel) Memory() []backend.Memory {
	if m, ok := s.Model.(backend.MemoryReporter); ok {
		return m.Memory()
	}
	return nil
}

// inputPool returns the pool whose memory the model takes without a copy; nil: there is none.
func (s *sharedModel) inputPool() *tensor.Pool {
	if m, ok := s.Model.(backend.InputPooler); ok {
		return m.InputPool()
	}
	return nil
}

var _ backend.MemoryReporter = (*sharedModel)(nil)
