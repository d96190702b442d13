// Package state keeps the implicit states of sequences: tensors that a model outputs with
// one request of a sequence and gets back with the next, and that clients need not see. A
// value is kept by reference: the memory that a backend wrote an output into is the
// memory that it reads the next input from.
//
// The package knows neither slots nor batches, which belong to the scheduler.
package state

import (
	"log/slog"
	"slices"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/tensor"
	"triton/server/scheduler/sequence"
)

// Model holds the implicit states that a model's configuration declares.
type Model struct {
	states  []declared
	varies  bool  // some dimensions are variable
	invalid error // NewStates returns it; nil when the configuration is valid
	log     *slog.Logger
}

// declared is one state of the configuration.
type declared struct {
	input, output string
	initial       value
}

// value is the value of a state. The shape is never changed in place.
type value struct {
	dataType tensor.DataType
	shape    tensor.Shape // with a batch dimension of 1 when the model batches
	data     tensor.Data
}

// Options describe the model whose states to keep.
type Options struct {
	Config *inferencepb.ModelConfig
	Dir    string // of the model; files of initial values are in its folder initial_state
	Pool   *tensor.Pool
	Log    *slog.Logger
}

// New reads the declared states and their initial values; it returns nil if the model has
// none.
func New(o Options) (*Model, error) {
	all := o.Config.GetSequenceBatching().GetState()
	if len(all) == 0 {
		return nil, nil
	}
	if err := modelconfig.FirstError(modelconfig.ValidateStates(modelconfig.New("", o.Config), o.Dir)); err != nil {
		return nil, err
	}
	m := &Model{log: o.Log}
	inputs, outputs := map[string]bool{}, map[string]bool{}
	for _, s := range all {
		initial, err := initialValue(&o, s)
		if err != nil {
			m.Close()
			return nil, err
		}
		if m.duplicate(s, inputs, outputs) {
			initial.data.Release()
			continue
		}
		inputs[s.GetInputName()], outputs[s.GetOutputName()] = true, true
		m.states = append(m.states, declared{s.GetInputName(), s.GetOutputName(), initial})
		m.varies = m.varies || slices.Contains(s.GetDims(), -1)
	}
	m.invalid = checkGrowable(o.Config)
	return m, nil
}

// duplicate reports whether a state repeats a name of an earlier one, and logs it.
func (m *Model) duplicate(s *inferencepb.ModelSequenceBatching_State, inputs, outputs map[string]bool) bool {
	switch {
	case outputs[s.GetOutputName()]:
		m.log.Warn("Detected duplicate 'output_name' in the state configuration: '" + s.GetOutputName() + "'. This state configuration will be ignored.")
	case inputs[s.GetInputName()]:
		m.log.Warn("Detected duplicate 'input_name' in the state configuration: '" + s.GetInputName() + ".' This state configuration will be ignored.")
	default:
		return false
	}
	return true
}

// Close releases the initial values. Running sequences keep theirs.
func (m *Model) Close() {
	for i := range m.states {
		m.states[i].initial.data.Release()
	}
}

// NewStates returns the states of a new sequence: the initial values, by reference.
func (m *Model) NewStates(int) (sequence.States, error) {
	if m.invalid != nil {
		return nil, m.invalid
	}
	s := &Sequence{states: m.states, values: make([]value, len(m.states))}
	for i := range m.states {
		v := &m.states[i].initial
		s.values[i] = value{v.dataType, v.shape, v.data.Clone()}
	}
	return s, nil
}

// Compatible reports whether the states of two sequences have the same shapes; nil stands
// for a new sequence.
func (m *Model) Compatible(a, b sequence.States) bool {
	if !m.varies {
		return true
	}
	x, y := m.shapes(a), m.shapes(b)
	return slices.EqualFunc(x, y, tensor.Shape.Equal)
}

func (m *Model) shapes(s sequence.States) []tensor.Shape {
	if seq, ok := s.(*Sequence); ok {
		return seq.shapes()
	}
	var all []tensor.Shape
	for i := range m.states {
		all = append(all, m.states[i].initial.shape)
	}
	return all
}

var (
	_ sequence.StateStore = (*Model)(nil)
	_ sequence.States     = (*Sequence)(nil)
)
