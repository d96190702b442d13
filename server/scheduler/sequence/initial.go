package sequence

import (
	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// initialValue returns the value that a state starts with: the initial_state of the
// configuration, which was checked, else zeros. Variable dimensions of such zeros are 1.
func initialValue(o *StateOptions, s *inferencepb.ModelSequenceBatching_State) (value, error) {
	name := s.GetInputName()
	v := value{dataType: tensor.DataType(s.GetDataType())}
	if o.Config.GetMaxBatchSize() > 0 {
		v.shape = append(v.shape, 1)
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
	v.shape = append(v.shape, initial.GetDims()...)
	if file := initial.GetDataFile(); file != "" {
		return v, fromFile(o, &v, name, file)
	}
	return v, zeros(o, &v, name)
}

// zeros sets the data of v to zeros or empty strings.
func zeros(o *StateOptions, v *value, name string) error {
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
func fromFile(o *StateOptions, v *value, name, file string) error {
	n, err := size(v)
	if err != nil {
		return noMemory(v, name, err)
	}
	raw, err := modelconfig.ReadInitialState(o.Dir, name, file)
	if err != nil {
		return err
	}
	if v.dataType != tensor.Bytes {
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
