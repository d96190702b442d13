package data

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"triton/perf/recording"
	"triton/pkg/spelling"
	"triton/pkg/tensor"
)

// reader collects the streams of one or more JSON files.
type reader struct {
	sig        Signature
	timestamps bool     // each step has its time
	sessions   bool     // each step belongs to a session
	shared     bool     // see Options.Shared
	others     []string // names that were passed over, each once
	streams    [][]Step
	nested     *bool // whether data has an array for each stream, or the steps of one; nil: not known yet
}

var (
	errMixed = errors.New("Inconsistency in input-data provided. Can not have a combination of objects and arrays inside of the Data array")
	errAlign = errors.New("The 'validation_data' field doesn't align with 'data' field in the json file")
)

func (r *reader) readFile(path string) error {
	src, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("failed to open file for reading provided data: %w", err)
	}
	read := r.read
	if recording.Is(src) {
		read = r.readTrace
	}
	if err := read(src); err != nil {
		return fmt.Errorf("%w (%s)", err, path)
	}
	return nil
}

func (r *reader) read(src []byte) error {
	doc, err := parseJSON(src)
	if err != nil {
		return fmt.Errorf("failed to parse the specified json file for reading provided data: %w", err)
	}
	data := doc.get("data")
	if data == nil || data.kind != array {
		return errors.New("The json file doesn't contain data field")
	}
	outputs := doc.get("validation_data")
	if outputs != nil && !alignedWith(outputs, data) {
		return fmt.Errorf("%w (they have %d and %d elements)", errAlign, len(outputs.items), len(data.items))
	}
	return r.addData(data, outputs)
}

func (r *reader) addData(data, outputs *node) error {
	for i := range data.items {
		nested := data.items[i].kind == array
		if r.nested == nil {
			r.nested = &nested
		}
		if *r.nested != nested {
			return fmt.Errorf("%w (element %d differs from those before it)", errMixed, i)
		}
		var out *node
		if outputs != nil {
			out = &outputs.items[i]
		}
		if !nested {
			if len(r.streams) == 0 {
				r.streams = append(r.streams, nil)
			}
			if err := r.addStep(0, &data.items[i], out); err != nil {
				return err
			}
			continue
		}
		if out != nil && !alignedWith(out, &data.items[i]) {
			return fmt.Errorf("%w (stream %d has %d and %d elements)", errAlign, len(r.streams), len(out.items), len(data.items[i].items))
		}
		if err := r.addStream(&data.items[i], out); err != nil {
			return err
		}
	}
	return nil
}

// alignedWith reports whether both are arrays of the same length.
func alignedWith(outputs, data *node) bool {
	return outputs.kind == array && len(outputs.items) == len(data.items)
}

func (r *reader) addStream(steps, outputs *node) error {
	s := len(r.streams)
	r.streams = append(r.streams, nil)
	for k := range steps.items {
		var out *node
		if outputs != nil {
			out = &outputs.items[k]
		}
		if err := r.addStep(s, &steps.items[k], out); err != nil {
			return err
		}
	}
	return nil
}

// location is the step that an error is about.
type location struct{ stream, step int }

func (l location) String() string {
	return fmt.Sprintf("( Location stream id: %d, step id: %d)", l.stream, l.step)
}

// addStep reads one object of inputs and optional outputs.
func (r *reader) addStep(stream int, in, out *node) error {
	where := location{stream, len(r.streams[stream])}
	var step Step
	var err error
	if step.Inputs, err = values(in, r.sig.Inputs, where); err != nil {
		return err
	}
	if r.timestamps {
		if step.Time, err = timestamp(in, where); err != nil {
			return err
		}
	}
	if r.sessions {
		if step.Session, err = turn(in, where); err != nil {
			return err
		}
	}
	if out != nil {
		if step.Outputs, err = values(out, r.sig.Outputs, where); err != nil {
			return err
		}
	}
	if err := r.checkNames(in); err != nil {
		return fmt.Errorf("%w %s", err, where)
	}
	r.streams[stream] = append(r.streams[stream], step)
	return nil
}

// checkNames rejects names that the model does not have.
func (r *reader) checkNames(step *node) error {
	var known []string
	for _, t := range slices.Concat(r.sig.Inputs, r.sig.Outputs) {
		known = append(known, t.Name)
	}
	for _, name := range step.names {
		if name == "model" || name == timestampTensor.Name && r.timestamps {
			continue
		}
		if r.sessions && (name == sessionTensor.Name || name == delayTensor.Name) {
			continue
		}
		switch {
		case slices.Contains(known, name), slices.Contains(r.others, name):
		case r.shared:
			r.others = append(r.others, name)
		default:
			return fmt.Errorf("The input or output '%s' is not found in the model configuration: %s", name,
				spelling.Hint(name, known, "it has "+strings.Join(known, ", ")))
		}
	}
	return nil
}

func values(step *node, tensors []Tensor, where location) (map[string]Value, error) {
	if step.kind != object {
		return nil, fmt.Errorf("a step must be an object of tensors %s", where)
	}
	m := make(map[string]Value, len(tensors))
	for _, t := range tensors {
		n := step.get(t.Name)
		if n == nil {
			if t.Optional {
				continue
			}
			return nil, fmt.Errorf("missing tensor %s %s", t.Name, where)
		}
		v, err := value(n, t)
		if err != nil {
			return nil, fmt.Errorf("%w %s of tensor '%s'", err, where, t.Name)
		}
		m[t.Name] = v
	}
	return m, nil
}

// value reads one tensor in any of its forms.
func value(n *node, t Tensor) (Value, error) {
	v := Value{Shape: t.Shape}
	if t.Generator && n.kind == text {
		return generated(n.text)
	}
	content := n
	switch n.kind {
	case array:
	case object:
		if sh := n.get("shape"); sh != nil {
			var err error
			if v.Shape, err = shapeOf(sh); err != nil {
				return v, err
			}
		}
		if n.get("b64") == nil {
			if content = n.get("content"); content == nil {
				return v, errors.New("missing content field.")
			}
		}
	default:
		return v, errors.New("Input data file is malformed. Give the values of a tensor as an array")
	}
	var err error
	switch {
	case content.kind == array:
		v, err = elements(content, t, v, n.get("shape") == nil)
	case content.kind == object && content.get("b64") != nil:
		v.Data, err = decodeBase64(content.get("b64"))
	default:
		return v, errors.New("The tensor values are not supported. Expected an array or b64 string")
	}
	if err != nil {
		return v, err
	}
	return v, check(v, t)
}

func shapeOf(n *node) (tensor.Shape, error) {
	s := tensor.Shape{}
	if n.kind != array {
		return nil, errors.New("shape values must be integers.")
	}
	for i := range n.items {
		d, err := strconv.ParseInt(n.items[i].text, 10, 64)
		if err != nil || n.items[i].kind != number {
			return nil, errors.New("shape values must be integers.")
		}
		s = append(s, d)
	}
	return s, nil
}

func decodeBase64(n *node) ([]byte, error) {
	if n.kind != text {
		return nil, errors.New("the value of b64 field should be of type string")
	}
	s := strings.NewReplacer("\n", "", "\r", "", " ", "", "\t", "").Replace(n.text)
	data, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		data, err = base64.RawStdEncoding.DecodeString(s)
	}
	if err != nil {
		return nil, fmt.Errorf("the value of b64 field is not base64: %w", err)
	}
	return data, nil
}

// check compares shape and size with the model.
func check(v Value, t Tensor) error {
	if dynamic(v.Shape) {
		return fmt.Errorf("The variable-sized tensor %q with model shape %s needs to have its shape fully defined. See the --shape option.", t.Name, t.Shape)
	}
	if !v.Shape.Matches(t.Shape) {
		return fmt.Errorf("The supplied shape of %s for input %q is incompatible with the model's input shape of %s", v.Shape, t.Name, t.Shape)
	}
	if t.DataType == tensor.Bytes {
		want, err := v.Shape.Elements()
		if err != nil {
			return fmt.Errorf("shape %s of %q: %w", v.Shape, t.Name, err)
		}
		got, err := tensor.CountElements(v.Data)
		if err != nil {
			return fmt.Errorf("data provided for %s: %w", t.Name, err)
		}
		if int64(got) != want {
			return fmt.Errorf("mismatch in the data provided for %s. Expected: %d elements, Got: %d elements", t.Name, want, got)
		}
		return nil
	}
	want, err := v.Shape.ByteSize(t.DataType)
	if err != nil {
		return fmt.Errorf("shape %s of %q: %w", v.Shape, t.Name, err)
	}
	if want != int64(len(v.Data)) {
		return fmt.Errorf("mismatch in the data provided for %s. Expected: %d bytes, Got: %d bytes", t.Name, want, len(v.Data))
	}
	return nil
}
