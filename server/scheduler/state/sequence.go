package state

import (
	"sync"

	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// Sequence is the states of one sequence. Whoever runs the sequence calls Close
// when its last request is on its way; requests that have the states by then
// keep them.
type Sequence struct {
	states []declared

	mu     sync.Mutex
	values []value
	closed bool
}

// Give gives a request of the sequence the values of now as extras, and the
// right to update them. The extras are by reference: a later update does not
// change them.
func (s *Sequence) Give(r *infer.Request) {
	s.give(r)
	r.Member.States = s
}

// GiveNull gives a request that stands for no sequence the values of this one,
// so that shapes fit. What it updates is dropped.
func (s *Sequence) GiveNull(r *infer.Request) {
	s.give(r)
	r.Member.States = scratch{}
}

func (s *Sequence) give(r *infer.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.values {
		v := &s.values[i]
		t := r.Extra()
		t.Name, t.DataType, t.Shape, t.Data = s.states[i].input, v.dataType, v.shape, v.data.Clone()
	}
}

// Update is infer.States. Type and shape follow the output.
func (s *Sequence) Update(output string, d tensor.DataType, shape tensor.Shape, data tensor.Data) error {
	for i := range s.states {
		if s.states[i].output == output {
			s.set(i, d, shape, data)
			return nil
		}
	}
	data.Release()
	return status.New(status.InvalidArg, "state '%s' is not a valid state name.", output)
}

func (s *Sequence) set(i int, d tensor.DataType, shape tensor.Shape, data tensor.Data) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		data.Release()
		return
	}
	v := &s.values[i]
	v.data.Release()
	v.dataType, v.data = d, data
	if !v.shape.Equal(shape) {
		v.shape = shape.Clone() // requests hold the old one
	}
}

// shapes are those of now.
func (s *Sequence) shapes() []tensor.Shape {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []tensor.Shape
	for i := range s.values {
		all = append(all, s.values[i].shape)
	}
	return all
}

// Close gives the values back. Updates that come later are dropped.
func (s *Sequence) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for i := range s.values {
		s.values[i].data.Release()
	}
	s.values = nil
}

// scratch is the states of a null request.
type scratch struct{}

func (scratch) Update(_ string, _ tensor.DataType, _ tensor.Shape, data tensor.Data) error {
	data.Release()
	return nil
}
