package sequence

import (
	"sync"

	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// States are the implicit states of one sequence. The batcher calls Close after the last
// request got its states; requests hold references to the values that they got. One goroutine
// at a time uses them unless the model is decoupled.
type States struct {
	states []declared

	mu     sync.Mutex
	values []value
	closed bool
}

// AddTo adds the current values to a request that is about to run, as extras with the names,
// types and shapes of the states' inputs, and lets the request update the states. An update does not
// change the extras of earlier requests.
func (s *States) AddTo(r *infer.Request) {
	s.add(r)
	r.Membership.States = s
}

// AddNullTo is AddTo for a null request. It gets the current values of this sequence, so that its
// shapes match those of the batch: shapes may change while a sequence runs. Its updates are dropped.
func (s *States) AddNullTo(r *infer.Request) {
	s.add(r)
	r.Membership.States = nullStates{}
}

func (s *States) add(r *infer.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.values {
		v := &s.values[i]
		t := r.Extra()
		t.Name, t.DataType, t.Shape, t.Data = s.states[i].input, v.dataType, v.shape, v.data.Clone()
	}
}

// Update implements infer.States. Type and shape follow the output.
func (s *States) Update(output string, d tensor.DataType, shape tensor.Shape, data tensor.Data) error {
	for i := range s.states {
		if s.states[i].output == output {
			s.set(i, d, shape, data)
			return nil
		}
	}
	data.Release()
	return status.New(status.InvalidArg, "state '%s' is not a valid state name.", output)
}

func (s *States) set(i int, d tensor.DataType, shape tensor.Shape, data tensor.Data) {
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
		v.shape = shape.Clone() // requests reference the old one
	}
}

// shapes returns the current shapes.
func (s *States) shapes() []tensor.Shape {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []tensor.Shape
	for i := range s.values {
		all = append(all, s.values[i].shape)
	}
	return all
}

// Close releases the values. Later updates are dropped.
func (s *States) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for i := range s.values {
		s.values[i].data.Release()
	}
	s.values = nil
}

// nullStates are the states of a null request: they drop updates.
type nullStates struct{}

func (nullStates) Update(_ string, _ tensor.DataType, _ tensor.Shape, data tensor.Data) error {
	data.Release()
	return nil
}
