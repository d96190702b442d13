package sequence

import (
	"log/slog"
	"slices"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/tensor"
)

// ImplicitStates are the implicit states that the configuration of a model declares: tensors that
// the model outputs with one request of a sequence and gets back with the next, and that clients
// need not see. A value is kept by reference: the memory that a backend wrote an output into is the
// memory that it reads the next input from. Its methods are called without locks held, by the holder
// of an instance slot.
type ImplicitStates struct {
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

// StateOptions describe the model whose states to keep.
type StateOptions struct {
	Config *inferencepb.ModelConfig
	Dir    string // of the model; files of initial values are in its folder initial_state
	Pool   *tensor.Pool
	Log    *slog.Logger
}

// NewImplicitStates reads the declared states and their initial values; it returns nil if the model has
// none.
func NewImplicitStates(o StateOptions) (*ImplicitStates, error) {
	all := o.Config.GetSequenceBatching().GetState()
	if len(all) == 0 {
		return nil, nil
	}
	if err := modelconfig.FirstError(modelconfig.ValidateStates(modelconfig.New("", o.Config), o.Dir)); err != nil {
		return nil, err
	}
	m := &ImplicitStates{log: o.Log}
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
func (m *ImplicitStates) duplicate(s *inferencepb.ModelSequenceBatching_State, inputs, outputs map[string]bool) bool {
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

// Close releases the initial values, once the version is closed. Running sequences keep theirs.
func (m *ImplicitStates) Close() {
	for i := range m.states {
		m.states[i].initial.data.Release()
	}
}

// NewStates returns the states of a new sequence: the initial values, by reference. It is called
// before the first request of a sequence runs, and before every other request with START. After an
// error, which is logged, the sequence runs without states.
func (m *ImplicitStates) NewStates() (*States, error) {
	if m.invalid != nil {
		return nil, m.invalid
	}
	s := &States{states: m.states, values: make([]value, len(m.states))}
	for i := range m.states {
		v := &m.states[i].initial
		s.values[i] = value{v.dataType, v.shape, v.data.Clone()}
	}
	return s, nil
}

// Compatible reports whether requests of two sequences can share a batch, which needs states of the
// same shapes; nil stands for a new sequence.
func (m *ImplicitStates) Compatible(a, b *States) bool {
	if !m.varies {
		return true
	}
	x, y := m.shapes(a), m.shapes(b)
	return slices.EqualFunc(x, y, tensor.Shape.Equal)
}

func (m *ImplicitStates) shapes(s *States) []tensor.Shape {
	if s != nil {
		return s.shapes()
	}
	var all []tensor.Shape
	for i := range m.states {
		all = append(all, m.states[i].initial.shape)
	}
	return all
}
