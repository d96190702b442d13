package state

import (
	"path/filepath"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// initialStateFolder is the folder of a model's directory with the files of initial
// values.
const initialStateFolder = "initial_state"

// initialValue returns the value that a state starts with: the initial_state of the
// configuration, else zeros. Variable dimensions of such zeros are 1.
func initialValue(o *Options, s *inferencepb.ModelSequenceBatching_State, named map[string]bool) (value, error) {
	name := s.GetInputName()
	v := value{dataType: tensor.DataType(s.GetDataType())}
	if o.Config.GetMaxBatchSize() > 0 {
		v.shape = append(v.shape, 1)
	}
	if n := len(s.GetInitialState()); n > 1 {
		return v, status.New(status.InvalidArg,
			"initial_state field for state input '%s' must contain exactly one or zero element. Found '%d' elements.", name, n)
	}
	if len(s.GetInitialState()) == 0 {
		for _, d := range s.GetDims() {
			if d == -1 {
				d = 1
			}
			v.shape = append(v.shape, d)
		}
		return v, zeros(o, &v, name)
	}
	initial := s.GetInitialState()[0]
	if named[name] && initial.GetDataType() == s.GetDataType() && initial.GetName() != "" {
		return v, status.New(status.InvalidArg, "State input name '%s' specified more than once.", name)
	}
	named[name] = true
	if err := checkInitial(s, initial); err != nil {
		return v, err
	}
	v.shape = append(v.shape, initial.GetDims()...)
	switch data := initial.GetStateData().(type) {
	case *inferencepb.ModelSequenceBatching_InitialState_ZeroData:
		return v, zeros(o, &v, name)
	case *inferencepb.ModelSequenceBatching_InitialState_DataFile:
		return v, fromFile(o, &v, name, data.DataFile)
	}
	return v, status.New(status.InvalidArg, "initial_state setting expects state'%s' to have state_data set", name)
}

// checkInitial compares an initial state with its state.
func checkInitial(s *inferencepb.ModelSequenceBatching_State, initial *inferencepb.ModelSequenceBatching_InitialState) error {
	name, dims, declaredDims := s.GetInputName(), initial.GetDims(), s.GetDims()
	switch {
	case initial.GetDataType() != s.GetDataType():
		return status.New(status.InvalidArg, "The data type used for 'initial_state' field of state '%s' does not match the state data type.", name)
	case initial.GetName() == "":
		return status.New(status.InvalidArg, "Field 'name' must be set when using initial_state for state input '%s'.", name)
	case len(dims) != len(declaredDims):
		return status.New(status.InvalidArg,
			"Number of dimensions in 'initial_state' doesn't match the size of 'state' dimensions for state input '%s'. %d != %d", name, len(dims), len(declaredDims))
	}
	for i, d := range dims {
		switch {
		case d == -1:
			return status.New(status.InvalidArg, "'initial_state' field for state input name '%s' contains variable dimensions.", name)
		case declaredDims[i] != -1 && declaredDims[i] != d:
			return status.New(status.InvalidArg, "'initial_state' dim for input name '%s' doesn't match 'state' dim description. %d != %d", name, d, declaredDims[i])
		}
	}
	return nil
}

// zeros sets the data of v to zeros or empty strings.
func zeros(o *Options, v *value, name string) error {
	n, err := size(v)
	if err != nil {
		return noMemory(v, name, err)
	}
	buf, err := o.Pool.TryGet(n)
	if err != nil {
		return noMemory(v, name, err)
	}
	clear(buf.Bytes())
	v.data = tensor.NewData(buf)
	return nil
}

func noMemory(v *value, name string, err error) error {
	return status.New(status.Internal, "no memory for state '%s' of shape %s: %w", name, v.shape, err)
}

// size returns the size of a value in bytes; strings count as empty.
func size(v *value) (int, error) {
	like := v.dataType
	if like == tensor.Bytes {
		like = tensor.Uint32 // the length of a string
	}
	n, err := v.shape.ByteSize(like)
	return int(n), err
}

// fromFile reads a value from a file. The file may be longer than the value, unless the
// value has strings.
func fromFile(o *Options, v *value, name, file string) error {
	n, err := size(v)
	if err != nil {
		return noMemory(v, name, err)
	}
	path := filepath.Join(o.Dir, initialStateFolder, file)
	if !filepath.IsLocal(file) {
		return status.New(status.InvalidArg, "file '%s' of the initial state of '%s' is outside the folder %s of the model", file, name, initialStateFolder)
	}
	raw, err := modelconfig.ReadText(path)
	if err != nil {
		return err
	}
	switch {
	case v.dataType == tensor.Bytes:
		if err := checkStrings(v, name, file, raw); err != nil {
			return err
		}
	case len(raw) < n:
		return status.New(status.InvalidArg, "initial_state setting expects %d bytes, but the data provided from %sonly has %d bytes.", n, file, len(raw))
	default:
		raw = raw[:n]
	}
	buf, err := o.Pool.TryGet(len(raw))
	if err != nil {
		return noMemory(v, name, err)
	}
	copy(buf.Bytes(), raw)
	v.data = tensor.NewData(buf)
	return nil
}

func checkStrings(v *value, name, file string, raw []byte) error {
	want, err := v.shape.Elements()
	if err != nil {
		return noMemory(v, name, err)
	}
	n, err := tensor.CountElements(raw)
	if err != nil {
		return status.New(status.InvalidArg, "file '%s' of the initial state of '%s': %w", file, name, err)
	}
	if int64(n) != want {
		return status.New(status.InvalidArg, "initial_state setting expects %d strings for state '%s', but the data provided from %s has %d", want, name, file, n)
	}
	return nil
}

// checkGrowable returns an error if use_growable_memory is set and cannot be used.
func checkGrowable(c *inferencepb.ModelConfig) error {
	for _, s := range c.GetSequenceBatching().GetState() {
		if !s.GetUseGrowableMemory() {
			continue
		}
		if !s.GetUseSameBufferForInputOutput() {
			return status.New(status.InvalidArg,
				"In order to 'use_growable_memory', you must also enable 'use_single_buffer' for state input name '%s'.", s.GetInputName())
		}
		for _, g := range c.GetInstanceGroup() {
			if g.GetKind() != inferencepb.ModelInstanceGroup_KIND_GPU {
				return status.New(status.InvalidArg, "'use_growable_memory' can only work with KIND_GPU model instances right now. "+
					"Please either change the instance type to KIND_GPU or set 'use_growable_memory' to false for state input '%s'.", s.GetInputName())
			}
		}
	}
	return nil
}
