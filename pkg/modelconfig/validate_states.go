package modelconfig

import (
	"fmt"
	"path/filepath"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// stateFolder is the folder of a model's directory with the files of initial values.
const stateFolder = "initial_state"

// ValidateStates checks the initial values of implicit states.
func ValidateStates(c *Config, dir string) []Finding {
	k := fileValidator{validator{Config: c}, dir}
	named := map[string]bool{} // inputs with an initial state
	for i, s := range c.GetSequenceBatching().GetState() {
		k.state(fmt.Sprintf("sequence_batching.state[%d]", i), s, named)
	}
	return k.found
}

// ReadInitialState reads the file of an initial value.
func ReadInitialState(dir, state, file string) ([]byte, error) {
	if !LocalName(file) {
		return nil, status.New(status.InvalidArg, "file '%s' of the initial state of '%s' is outside the folder %s of the model", file, state, stateFolder)
	}
	return ReadOwn(dir, filepath.Join(stateFolder, file))
}

func (k *fileValidator) state(path string, s *inferencepb.ModelSequenceBatching_State, named map[string]bool) {
	name := s.GetInputName()
	if n := len(s.GetInitialState()); n > 1 {
		k.add(ruleState, path+".initial_state[1]", "keep one",
			"initial_state field for state input '%s' must contain exactly one or zero element. Found '%d' elements.", name, n)
		return
	} else if n == 0 {
		k.size(path, s, s.GetDims())
		return
	}
	initial := s.GetInitialState()[0]
	at := path + ".initial_state[0]"
	if named[name] && initial.GetDataType() == s.GetDataType() && initial.GetName() != "" {
		k.add(ruleState, path+".input_name", "give each state an input of its own", "State input name '%s' specified more than once.", name)
		return
	}
	named[name] = true
	before := len(k.found)
	k.initial(at, s, initial)
	if len(k.found) > before || !k.size(path, s, initial.GetDims()) {
		return
	}
	switch data := initial.GetStateData().(type) {
	case nil:
		k.add(ruleState, at, "write zero_data: true", "initial_state setting expects state'%s' to have state_data set", name)
	case *inferencepb.ModelSequenceBatching_InitialState_DataFile:
		k.stateFile(at+".data_file", s, initial, data.DataFile)
	}
}

// initial compares an initial state with its state.
func (k *fileValidator) initial(at string, s *inferencepb.ModelSequenceBatching_State, initial *inferencepb.ModelSequenceBatching_InitialState) {
	name, dims, declared := s.GetInputName(), initial.GetDims(), s.GetDims()
	switch {
	case initial.GetDataType() != s.GetDataType():
		k.add(ruleState, at+".data_type", "write data_type: "+s.GetDataType().String(),
			"The data type used for 'initial_state' field of state '%s' does not match the state data type.", name)
		return
	case initial.GetName() == "":
		k.add(ruleState, at, "write any name", "Field 'name' must be set when using initial_state for state input '%s'.", name)
		return
	case len(dims) != len(declared):
		k.add(ruleState, at+".dims", "write the dims of the state",
			"Number of dimensions in 'initial_state' doesn't match the size of 'state' dimensions for state input '%s'. %d != %d", name, len(dims), len(declared))
		return
	}
	for i, d := range dims {
		switch {
		case d == -1:
			k.add(ruleState, fmt.Sprintf("%s.dims[%d]", at, i), "write a size", "'initial_state' field for state input name '%s' contains variable dimensions.", name)
			return
		case declared[i] != -1 && declared[i] != d:
			k.add(ruleState, fmt.Sprintf("%s.dims[%d]", at, i), fmt.Sprintf("write %d", declared[i]),
				"'initial_state' dim for input name '%s' doesn't match 'state' dim description. %d != %d", name, d, declared[i])
			return
		}
	}
}

// stateShape returns the shape of an initial value. Variable dimensions of values that are not
// configured are 1.
func (k *fileValidator) stateShape(dims []int64) tensor.Shape {
	var shape tensor.Shape
	if k.GetMaxBatchSize() > 0 {
		shape = append(shape, 1)
	}
	for _, d := range dims {
		if d == -1 {
			d = 1
		}
		shape = append(shape, d)
	}
	return shape
}

// size checks that the size of a value can be computed.
func (k *fileValidator) size(path string, s *inferencepb.ModelSequenceBatching_State, dims []int64) bool {
	shape := k.stateShape(dims)
	_, err := tensorBytes(shape, tensor.DataType(s.GetDataType()))
	if err != nil {
		k.addCode(ruleState, status.Internal, path+".dims", "correct the dimensions", "no memory for state '%s' of shape %s: %s", s.GetInputName(), shape, err)
	}
	return err == nil
}

func (k *fileValidator) stateFile(path string, s *inferencepb.ModelSequenceBatching_State, initial *inferencepb.ModelSequenceBatching_InitialState, file string) {
	name, d, shape := s.GetInputName(), tensor.DataType(s.GetDataType()), k.stateShape(initial.GetDims())
	raw, err := ReadInitialState(k.dir, name, file)
	if err != nil {
		e := status.From(err)
		k.addCode(ruleState, e.Code, path, k.fileHint(stateFolder, file, "put the file into the folder initial_state beside config.pbtxt"), "%s", e.Msg)
		return
	}
	if d == tensor.Bytes {
		k.stateStrings(path, name, file, raw, shape)
		return
	}
	if n, err := tensorBytes(shape, d); err == nil && int64(len(raw)) < n {
		k.add(ruleState, path, fmt.Sprintf("write at least %d bytes", n),
			"initial_state setting expects %d bytes, but the data provided from %sonly has %d bytes.", n, file, len(raw))
	}
}

func (k *fileValidator) stateStrings(path, name, file string, raw []byte, shape tensor.Shape) {
	const hint = "write each string with its length before it, in 4 bytes"
	want, _ := shape.Elements() // size has checked it
	switch n, err := tensor.CountElements(raw); {
	case err != nil:
		k.add(ruleState, path, hint, "file '%s' of the initial state of '%s': %s", file, name, err)
	case int64(n) != want:
		k.add(ruleState, path, hint, "initial_state setting expects %d strings for state '%s', but the data provided from %s has %d", want, name, file, n)
	}
}
