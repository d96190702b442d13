// Package kserve holds the messages of the v2 inference protocol as Go structs,
// the same for HTTP and gRPC. The codecs are kserve/rest and kserve/rpc. The
// structs are reused: Reset keeps their storage, unless it is larger than usual
// messages need. The package knows no wire format and no model.
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

// RequestedOutput is one entry of a request's outputs.
type RequestedOutput struct {
	Name           string
	Binary         bool   // HTTP: as raw bytes after the JSON
	Classification uint32 // 0 off, else top-K
	// Into is the shared memory that the output is written to. Its Buffer is nil if the
	// output is returned in the response. It may be on a tensor.Device. The request owns
	// the reference.
	Into tensor.Segment
	// Placed reports that the output was written to Into and is not in the response.
	Placed bool

	lent uint32 // atomic; 1 while a backend writes the output to Into
}

// Lend lends Into to a backend, which writes one output there. It reports false
// while it is lent already.
func (o *RequestedOutput) Lend() bool { return atomic.CompareAndSwapUint32(&o.lent, 0, 1) }

// Return ends a loan. The backend has sent its response.
func (o *RequestedOutput) Return() { atomic.StoreUint32(&o.lent, 0) }

// Release releases Into.
func (o *RequestedOutput) Release() {
	if o.Into.Buffer != nil {
		o.Into.Buffer.Release()
		o.Into = tensor.Segment{}
	}
}

// Regions is the shared memory that clients have registered.
type Regions interface {
	// Find returns size bytes at offset of a region. The caller owns the segment's
	// reference. The segment may be on a tensor.Device.
	Find(region string, offset, size uint64) (tensor.Segment, error)
}

// Request is an inference request. An empty Outputs requests all outputs. The parameters
// that the protocol defines have their own fields and are not in Parameters.
type Request struct {
	ModelName    string
	ModelVersion string // empty: the server chooses
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

	// Raw reports that Inputs holds one tensor without name, type and shape whose
	// data is the whole request body. The model's only input defines the rest.
	Raw bool
}

// AddInput appends an input, reusing the storage of an earlier one, and returns
// it reset.
func (r *Request) AddInput() *Tensor {
	var t *Tensor
	r.Inputs, t = addTensor(r.Inputs)
	return t
}

// Input returns the input of that name, or nil.
func (r *Request) Input(name string) *Tensor { return find(r.Inputs, name) }

// InputNear is Input for an input that is most likely at index i.
func (r *Request) InputNear(i int, name string) *Tensor {
	if i < len(r.Inputs) && r.Inputs[i].Name == name {
		return &r.Inputs[i]
	}
	return r.Input(name)
}

// Into returns the memory that the client wants an output written to. It reports false if
// the output is returned in the response.
func (r *Request) Into(output string) (tensor.Segment, bool) {
	for i := range r.Outputs {
		if o := &r.Outputs[i]; o.Name == output {
			return o.Into, o.Into.Buffer != nil
		}
	}
	return tensor.Segment{}, false
}

// Wants reports whether the request requests an output of that name.
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

// Output returns the output of that name, or nil.
func (r *Response) Output(name string) *Tensor { return find(r.Outputs, name) }

// Reset releases the tensors and clears the message for reuse.
func (r *Response) Reset() {
	ReleaseTensors(r.Outputs)
	*r = Response{Parameters: emptied(r.Parameters), Outputs: emptiedTensors(r.Outputs)}
}
