package data

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

// Signature is the interface of the model, which the data must match.
type Signature struct {
	Model, Version string
	Inputs         []Tensor // ordered by name
	Outputs        []Tensor // ordered by name
	Batching       bool     // a batch dimension precedes the shapes
}

// Tensor is one input or output of the model. The shape is per item, with -1
// for dimensions that vary.
type Tensor struct {
	Name        string
	DataType    tensor.DataType
	Shape       tensor.Shape
	Optional    bool
	ShapeTensor bool
	// JSON marks an input of any JSON value, which becomes a string.
	JSON bool
	// Generator marks an input whose value in a file is a command for the shell. It writes
	// the elements, each after its length in four bytes.
	Generator bool
}

// Value is the data of one tensor for one item.
type Value struct {
	Shape tensor.Shape
	Data  []byte
}

// Step is the data of one item: inputs, and the expected outputs if any.
type Step struct {
	Inputs  map[string]Value
	Outputs map[string]Value
	Time    time.Duration // since the start of the load; with Options.Timestamps
	Session Turn          // with Options.Sessions
	// Recorded is set for a whole request of a trace: the shapes of its inputs have the batch
	// dimension.
	Recorded *Recorded
}

// Recorded is what a request of a trace has besides its inputs.
type Recorded struct {
	Parameters    []kserve.Parameter
	Priority      uint64
	TimeoutMicros uint64
}

// Set is the data of a run. Models without sequences use only the first stream.
type Set struct {
	Signature Signature
	Streams   [][]Step
	FromFiles bool // read from JSON files
	// PassedOver tells which shapes, ranges and files are for inputs that the model does not have, as
	// sentences. They may be those of another model of the same call.
	PassedOver []string
}

// Load reads or generates the data.
func Load(o Options, s Signature) (*Set, error) {
	set := &Set{}
	set.passOver(s, "--shape names", maps.Keys(o.Shapes))
	set.passOver(s, "--input-range names", maps.Keys(o.Ranges))
	s.Inputs = applyShapes(s.Inputs, o.Shapes)
	set.Signature = s
	if o.Source != Random && (o.Steps > 1 || len(o.Ranges) > 0) {
		return nil, errors.New("random steps and input ranges need random data")
	}
	if o.Timestamps && (o.Source != Files || len(o.Paths) == 0) {
		return nil, errNoSchedule
	}
	if o.Sessions && (o.Source != Files || len(o.Paths) == 0) {
		return nil, errNoSessions
	}
	if o.Source != Files {
		steps, err := generate(o, s.Inputs)
		if err != nil {
			return nil, err
		}
		set.Streams = [][]Step{steps}
		return set, nil
	}
	if len(o.Paths) == 0 {
		return nil, errors.New("no path of input data was given")
	}
	if isDir(o.Paths[0]) && !o.Timestamps && !o.Sessions {
		step, others, err := readDir(o.Paths[0], s, o.Shared)
		if err != nil {
			return nil, err
		}
		set.passOver(s, "the folder "+o.Paths[0]+" has", slices.Values(others))
		set.Streams = [][]Step{{step}}
		return set, nil
	}
	set.FromFiles = true
	r := reader{sig: s, timestamps: o.Timestamps, sessions: o.Sessions, shared: o.Shared}
	for _, p := range o.Paths {
		if err := r.readFile(p); err != nil {
			return nil, err
		}
	}
	set.passOver(s, "the input data has", slices.Values(r.others))
	set.Streams = r.streams
	if len(set.Streams) == 0 || len(set.Streams[0]) == 0 {
		return nil, fmt.Errorf("%s: the data array is empty", o.Paths[0])
	}
	if o.Sessions && *r.nested {
		return nil, errOneSessionStream
	}
	if o.Timestamps {
		return set, set.orderByTime(*r.nested)
	}
	return set, nil
}

// passOver notes the inputs among those named that the model does not have.
func (s *Set) passOver(sig Signature, who string, named iter.Seq[string]) {
	names := make([]string, len(sig.Inputs))
	for i := range sig.Inputs {
		names[i] = sig.Inputs[i].Name
	}
	for _, name := range slices.Sorted(named) {
		if !slices.Contains(names, name) {
			s.PassedOver = append(s.PassedOver, fmt.Sprintf("%s the input %q, which model %s does not have: it is passed over. Its inputs are %s.",
				who, name, sig.Model, strings.Join(names, ", ")))
		}
	}
}

// applyShapes replaces shapes that have variable dimensions with the user's.
func applyShapes(in []Tensor, shapes map[string][]int64) []Tensor {
	out := append([]Tensor(nil), in...)
	for i := range out {
		if sh, ok := shapes[out[i].Name]; ok && dynamic(out[i].Shape) {
			out[i].Shape = tensor.Shape(sh)
		}
	}
	return out
}

func dynamic(s tensor.Shape) bool {
	return slices.ContainsFunc(s, func(d int64) bool { return d < 0 })
}

// Request returns the request for batch consecutive steps of a stream, starting with step
// first. It refers to the bytes of the set.
func (s *Set) Request(stream, first, batch int) (*kserve.Request, error) {
	req := &kserve.Request{ModelName: s.Signature.Model, ModelVersion: s.Signature.Version}
	recorded := s.step(stream, first).Recorded
	if recorded != nil {
		if batch != 1 {
			return nil, errors.New("the requests of a trace have batch sizes of their own")
		}
		req.Parameters = slices.Clone(recorded.Parameters)
		req.Priority, req.TimeoutMicros = recorded.Priority, recorded.TimeoutMicros
	}
	for _, in := range s.Signature.Inputs {
		if err := s.addInput(req, in, stream, first, batch); err != nil {
			return nil, err
		}
	}
	for _, out := range s.Signature.Outputs {
		req.Outputs = append(req.Outputs, kserve.RequestedOutput{Name: out.Name, Binary: true})
	}
	return req, nil
}

func (s *Set) step(stream, i int) *Step {
	steps := s.Streams[stream]
	return &steps[i%len(steps)]
}

func (s *Set) addInput(req *kserve.Request, in Tensor, stream, first, batch int) error {
	v, ok := s.step(stream, first).Inputs[in.Name]
	for i := 1; i < batch; i++ {
		if _, also := s.step(stream, first+i).Inputs[in.Name]; also != ok {
			return errors.New("For batch sizes larger than 1, the same set of inputs must be specified for each batch. You cannot use different set of optional inputs for each individual batch.")
		}
	}
	if !ok {
		if in.Optional {
			return nil
		}
		return fmt.Errorf("unable to find data for input '%s'.", in.Name)
	}
	t := req.AddInput()
	t.Name, t.DataType = in.Name, in.DataType
	if s.Signature.Batching && !in.ShapeTensor && s.step(stream, first).Recorded == nil {
		t.Shape = append(t.Shape[:0], int64(batch))
	}
	t.Shape = append(t.Shape, v.Shape...)
	for i := range batch {
		w := s.step(stream, first+i).Inputs[in.Name]
		if in.ShapeTensor && i > 0 {
			switch {
			case len(w.Data) != len(v.Data):
				return errors.New("The shape tensors should be identical in a batch (mismatch in size)")
			case !bytes.Equal(w.Data, v.Data):
				return errors.New("The shape tensors should be identical in a batch (mismatch in content)")
			}
			continue
		}
		if !w.Shape.Equal(v.Shape) {
			return fmt.Errorf("can not batch tensors with different shapes together (input '%s' expected shape %s and received %s %s", in.Name, v.Shape, w.Shape, location{stream, (first + i) % len(s.Streams[stream])})
		}
		t.Data.Append(tensor.HeapBuffer(w.Data), 0, len(w.Data))
	}
	return nil
}

// HasExpected reports whether a step has expected outputs.
func (s *Set) HasExpected() bool {
	for _, stream := range s.Streams {
		for i := range stream {
			if len(stream[i].Outputs) > 0 {
				return true
			}
		}
	}
	return false
}

// Check compares a response with the expected outputs of the steps of Request(stream, first,
// batch).
func (s *Set) Check(resp *kserve.Response, stream, first, batch int) error {
	for name := range s.step(stream, first).Outputs {
		var want []byte
		for i := range batch {
			want = append(want, s.step(stream, first+i).Outputs[name].Data...)
		}
		got := resp.Output(name)
		if got == nil {
			return fmt.Errorf("Output '%s' is expected but the response has none", name)
		}
		data, ok := got.Data.Contiguous()
		switch {
		case !ok || len(data) != len(want):
			return errors.New("Output size doesn't match expected size")
		case !bytes.Equal(data, want):
			return errors.New("Output doesn't match expected output")
		}
	}
	return nil
}
