package infer

import (
	"sync"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

// Response is one response in flight. If Err is set, the request failed and the outputs
// do not count.
type Response struct {
	kserve.Response
	Err error
	// OutputStart is when the backend began to write the outputs, by Now. Backends of
	// decoupled models may set it; the default is the time of the call to Respond.
	OutputStart int64

	released bool
}

var responses = sync.Pool{New: func() any { return &Response{} }}

// NewResponse returns an empty response.
func NewResponse() *Response {
	r := responses.Get().(*Response)
	r.released = false
	return r
}

// Add appends an output whose data moves into the response. The shape is copied.
func (r *Response) Add(name string, d tensor.DataType, shape tensor.Shape, data tensor.Data) {
	t := r.AddOutput()
	t.Name, t.DataType, t.Data = name, d, data
	t.Shape = append(t.Shape[:0], shape...)
}

// Release releases the output memory; the response must not be used again. A second
// Release panics unless the response was already reused.
func (r *Response) Release() {
	if r.released {
		panic("infer: response released twice")
	}
	r.released = true
	r.Reset()
	r.Err, r.OutputStart = nil, 0
	responses.Put(r)
}
