package client

import "time"

// Request is an inference request. Fields with a zero value, except Model and
// Inputs, are not sent.
type Request struct {
	Model   string
	Version string // empty: the server's choice
	ID      string

	Sequence Sequence
	Priority uint64
	// Timeout bounds the time in the server's queue, if the model's policy allows
	// requests to set it. It is sent in microseconds.
	Timeout time.Duration
	// EmptyFinal requests a final response that may be empty; see Final. Only
	// streams support it.
	EmptyFinal bool
	// Parameters are passed to the model. Values are string, bool, int, int64,
	// uint64 or float64.
	Parameters map[string]any

	Inputs  []Tensor
	Outputs []RequestedOutput // empty: all outputs
}

// Sequence is the position of a request in a sequence. Without a correlation ID
// the request belongs to none.
type Sequence struct {
	ID         uint64 // the correlation ID
	Text       string // a correlation ID that is a string, instead of ID
	Start, End bool
}

func (s Sequence) none() bool { return s.ID == 0 && s.Text == "" }

// Tensor is an input or an output.
type Tensor struct {
	Name     string
	Datatype string // such as INT32; BYTES for strings
	Shape    []int64
	// Data holds the values, little endian. The length of each element of BYTES
	// precedes it in four bytes. NewTensor and NewStrings encode it, Values and
	// Strings decode it.
	Data []byte
	// Region is the location of the values in shared memory, instead of Data.
	Region Region
}

// RequestedOutput is an output to return.
type RequestedOutput struct {
	Name string
	// Classes, if it is not 0, requests that many top classes as strings
	// "value:index:label" instead of the values.
	Classes int
	// Region is where in shared memory the server writes the values. The output
	// then has no Data.
	Region Region
}

// Region is a part of a registered region of shared memory, in bytes. Without a
// name it is unset.
type Region struct {
	Name         string
	Offset, Size uint64
}

// Response is the response to a request.
type Response struct {
	Model, Version, ID string
	// Parameters come from the model. Values are string, bool, int64, uint64 or
	// float64.
	Parameters map[string]any
	Outputs    []Tensor
}

// Output returns an output by name, or nil.
func (r *Response) Output(name string) *Tensor {
	for i := range r.Outputs {
		if r.Outputs[i].Name == name {
			return &r.Outputs[i]
		}
	}
	return nil
}

// Final reports whether this is the last response to the request on its stream.
func (r *Response) Final() bool {
	final, ok := r.Parameters["triton_final_response"].(bool)
	return ok && final
}
