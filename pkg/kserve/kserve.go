// Package kserve holds the messages of the v2 inference protocol as Go structs,
// the same for HTTP and gRPC. The codecs are kserve/rest and kserve/rpc. The
// structs are made for reuse: Reset keeps their storage, unless it is more than
// usual messages need.
package kserve

import (
	"sync/atomic"

	"triton/pkg/tensor"
)

// Tensor is one named input or output. It owns the references in Data.
type Tensor struct {
	Name     string
	DataType tensor.DataType
	Shape    tensor.Shape
	Data     tensor.Data
}

// ParameterKind says which field of a Parameter holds its value.
type ParameterKind uint8

// The kinds of parameter values.
const (
	ParamBool ParameterKind = iota + 1
	ParamInt
	ParamUint
	ParamDouble
	ParamString
)

// Parameter is one request or response parameter.
type Parameter struct {
	Name   string
	Kind   ParameterKind
	Bool   bool
	Int    int64
	Uint   uint64
	Double float64
	String string
}

// RequestedOutput is one entry of a request's outputs.
type RequestedOutput struct {
	Name           string
	Binary         bool   // HTTP: as raw bytes after the JSON
	Classification uint32 // 0 off, else top-K
	// Into is where in shared memory the output is to be written; its Buffer is
	// nil when the output goes back in the response. It may lie on a
	// tensor.Device. The request owns the reference.
	Into tensor.Segment
	// Placed says that the output was written there and is not in the response.
	Placed bool

	lent uint32 // 1: an engine is writing the output there; atomic
}

// Lend lends the memory where the client wants the output to an engine, which
// writes one output there. It reports false while another has it.
func (o *RequestedOutput) Lend() bool { return atomic.CompareAndSwapUint32(&o.lent, 0, 1) }

// Return ends a loan: the engine's response is there.
func (o *RequestedOutput) Return() { atomic.StoreUint32(&o.lent, 0) }

// Release gives back the memory that the output was to be written to.
func (o *RequestedOutput) Release() {
	if o.Into.Buffer != nil {
		o.Into.Buffer.Release()
		o.Into = tensor.Segment{}
	}
}

// Regions is the shared memory that clients have registered.
type Regions interface {
	// Find is size bytes at offset of a region; the caller owns the segment's
	// reference. The segment may lie on a tensor.Device.
	Find(region string, offset, size uint64) (tensor.Segment, error)
}

// Request is an inference request. An empty Outputs asks for all of them. The
// parameters that the protocol gives a meaning stand in fields of their own and
// not in Parameters.
type Request struct {
	ModelName    string
	ModelVersion string // empty: the server's choice
	ID           string

	SequenceID    uint64
	SequenceIDStr string // set instead of SequenceID when the id is a string
	SequenceStart bool
	SequenceEnd   bool
	Priority      uint64
	TimeoutMicros uint64
	BinaryOutput  bool // HTTP: outputs that are not listed come as raw bytes
	EmptyFinal    bool // triton_enable_empty_final_response

	Parameters []Parameter
	Inputs     []Tensor
	Outputs    []RequestedOutput

	// Raw says that Inputs holds one tensor without name, type and shape whose
	// data is the whole request body; the model's only input gives the rest.
	Raw bool
}

// AddInput appends an input, reusing the storage of an earlier one, and returns
// it reset.
func (r *Request) AddInput() *Tensor {
	var t *Tensor
	r.Inputs, t = addTensor(r.Inputs)
	return t
}

// Input finds an input by name; nil when there is none.
func (r *Request) Input(name string) *Tensor { return find(r.Inputs, name) }

// InputNear is Input for an input that most likely stands at index i.
func (r *Request) InputNear(i int, name string) *Tensor {
	if i < len(r.Inputs) && r.Inputs[i].Name == name {
		return &r.Inputs[i]
	}
	return r.Input(name)
}

// Into is where the client wants an output written; false when it is to come
// back in the response.
func (r *Request) Into(output string) (tensor.Segment, bool) {
	for i := range r.Outputs {
		if o := &r.Outputs[i]; o.Name == output {
			return o.Into, o.Into.Buffer != nil
		}
	}
	return tensor.Segment{}, false
}

// Wants says whether an output of that name was asked for.
func (r *Request) Wants(output string) bool {
	if len(r.Outputs) == 0 {
		return true
	}
	for i := range r.Outputs {
		if r.Outputs[i].Name == output {
			return true
		}
	}
	return false
}

// Reset releases the tensors and clears the message for reuse.
func (r *Request) Reset() {
	ReleaseTensors(r.Inputs)
	for i := range r.Outputs {
		r.Outputs[i].Release()
	}
	*r = Request{Parameters: emptied(r.Parameters), Inputs: emptiedTensors(r.Inputs), Outputs: emptied(r.Outputs)}
}

// Response is an inference response.
type Response struct {
	ModelName    string
	ModelVersion string
	ID           string
	Parameters   []Parameter
	Outputs      []Tensor
}

// AddOutput appends an output, reusing storage, and returns it reset.
func (r *Response) AddOutput() *Tensor {
	var t *Tensor
	r.Outputs, t = addTensor(r.Outputs)
	return t
}

// Output finds an output by name; nil when there is none.
func (r *Response) Output(name string) *Tensor { return find(r.Outputs, name) }

// Reset releases the tensors and clears the message for reuse.
func (r *Response) Reset() {
	ReleaseTensors(r.Outputs)
	*r = Response{Parameters: emptied(r.Parameters), Outputs: emptiedTensors(r.Outputs)}
}

// ReleaseTensors gives back the memory of all tensors.
func ReleaseTensors(ts []Tensor) {
	for i := range ts {
		ts[i].Data.Release()
	}
}

// keep is the longest list that stays for reuse: a single message of a million
// inputs must not fill a pool for good.
const keep = 256

// emptied is the storage of s, without what it refers to.
func emptied[T any](s []T) []T {
	if cap(s) > keep {
		return nil
	}
	clear(s)
	return s[:0]
}

// emptiedTensors also keeps the storage of their shapes.
func emptiedTensors(ts []Tensor) []Tensor {
	if cap(ts) > keep {
		return nil
	}
	for i := range ts {
		t := &ts[i]
		t.Name = ""
		if cap(t.Shape) > keep {
			t.Shape = nil
		}
	}
	return ts[:0]
}

func addTensor(ts []Tensor) ([]Tensor, *Tensor) {
	if n := len(ts); n < cap(ts) {
		ts = ts[:n+1]
		t := &ts[n]
		t.Name, t.DataType, t.Shape = "", tensor.Invalid, t.Shape[:0]
		t.Data.Release()
		return ts, t
	}
	ts = append(ts, Tensor{})
	return ts, &ts[len(ts)-1]
}

func find(ts []Tensor, name string) *Tensor {
	for i := range ts {
		if ts[i].Name == name {
			return &ts[i]
		}
	}
	return nil
}
