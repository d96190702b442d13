package data

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"triton/pkg/tensor"
)

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// readDir reads one file per tensor: raw bytes of one item, or one string per line. It returns the names of the
// other files, which only shared folders may have.
func readDir(dir string, s Signature, shared bool) (step Step, others []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return Step{}, nil, fmt.Errorf("read the input data: %w", err)
	}
	known := map[string]bool{}
	for _, t := range s.Inputs {
		known[t.Name] = true
	}
	for _, t := range s.Outputs {
		known[t.Name] = true
	}
	present := map[string]bool{}
	for _, e := range entries {
		if !known[e.Name()] && shared {
			others = append(others, e.Name())
			continue
		}
		if !known[e.Name()] {
			return Step{}, nil, fmt.Errorf("Provided data file '%s' does not correspond to a valid model input or output.", e.Name())
		}
		present[e.Name()] = true
	}
	step = Step{Inputs: map[string]Value{}}
	for _, in := range s.Inputs {
		if in.Optional && !present[in.Name] {
			continue
		}
		if dynamic(in.Shape) {
			return Step{}, nil, &DynamicShapeError{in}
		}
		if step.Inputs[in.Name], err = readTensor(dir, in); err != nil {
			return Step{}, nil, err
		}
	}
	for _, out := range s.Outputs {
		if !present[out.Name] {
			continue
		}
		if step.Outputs == nil {
			step.Outputs = map[string]Value{}
		}
		if step.Outputs[out.Name], err = readTensor(dir, out); err != nil {
			return Step{}, nil, err
		}
	}
	return step, others, nil
}

// readTensor reads the file of a tensor. The size is free if a dimension is variable, as those
// of outputs may be.
func readTensor(dir string, t Tensor) (Value, error) {
	path := filepath.Join(dir, t.Name)
	raw, err := os.ReadFile(path)
	if err != nil {
		return Value{}, fmt.Errorf("failed to open file '%s'", path)
	}
	if len(raw) == 0 {
		return Value{}, fmt.Errorf("file '%s' is empty", path)
	}
	v := Value{Shape: t.Shape, Data: raw}
	if t.DataType == tensor.Bytes {
		lines := bytes.Split(bytes.TrimSuffix(raw, []byte("\n")), []byte("\n"))
		if want, err := t.Shape.Elements(); !dynamic(t.Shape) && (err != nil || want != int64(len(lines))) {
			return Value{}, fmt.Errorf("provided data for input %s has %d elements, expect %d", t.Name, len(lines), want)
		}
		v.Data = nil
		for _, l := range lines {
			v.Data = tensor.AppendElement(v.Data, l)
		}
		return v, nil
	}
	if dynamic(t.Shape) {
		if size := t.DataType.Size(); len(raw)%size != 0 {
			return Value{}, fmt.Errorf("provided data for output %s has byte size %d, which is no multiple of the %d bytes of an element", t.Name, len(raw), size)
		}
		return v, nil
	}
	if want, err := t.Shape.ByteSize(t.DataType); err != nil || want != int64(len(raw)) {
		return Value{}, fmt.Errorf("provided data for input %s has byte size %d, expect %d", t.Name, len(raw), want)
	}
	return v, nil
}
