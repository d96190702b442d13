package infer

import (
	"sync"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

// Response is one response in flight. Err set means the request failed and the
// outputs do not count.
type Response struct {
	kserve.Response
	Err error
	// OutputStart is when the engine began to write the outputs, by Now. Engines
	// of decoupled models may set it; else it is when they respond.
	OutputStart int64

	released bool
}

var responses = sync.Pool{New: func() any { return &Response{} }}

// NewResponse is an empty response.
func NewResponse() *Response {
	r := responses.Get().(*Response)
	r.released = false
	return r
}

// Add appends an output whose data moves into the response. The shape is
// copied.
func (r *Response) Add(name string, d tensor.DataType, shape tensor.Shape, data tensor.Data) {
	t := r.AddOutput()
	t.Name, t.DataType, t.Data = name, d, data
	t.Shape = append(t.Shape[:0], shape...)
}

// Release gives the output memory back; the response must not be used again. A
// second Release panics as long as nobody else has the response.
func (r *Response) Release() {
	if r.released {
		panic("infer: response released twice")
	}
	r.released = true
	r.Reset()
	r.Err, r.OutputStart = nil, 0
	responses.Put(r)
}
