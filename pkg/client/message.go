package client

import "time"

// Request is an inference request. The zero values of all fields but Model and
// Inputs are those of a request that does not mention them.
type Request struct {
	Model   string
	Version string // empty: the server's choice
	ID      string

	Sequence Sequence
	Priority uint64
	// Timeout is how long the request may wait in a queue of the server, where
	// the model's policy lets requests say so. It is sent in microseconds.
	Timeout time.Duration
	// EmptyFinal asks for a final response that may be empty; see Final. Only
	// streams have it.
	EmptyFinal bool
	// Parameters are passed on to the model. Values are string, bool, int,
	// int64, uint64 or float64.
	Parameters map[string]any

	Inputs  []Tensor
	Outputs []RequestedOutput // none: all of them
}

// Sequence says what place a request has in a sequence. No id means none.
type Sequence struct {
	ID         uint64
	Text       string // an id that is a text, in place of ID
	Start, End bool
}

func (s Sequence) none() bool { return s.ID == 0 && s.Text == "" }

// Tensor is an input or an output.
type Tensor struct {
	Name     string
	Datatype string // such as INT32; BYTES for strings
	Shape    []int64
	// Data are the values, little endian. Each element of BYTES is preceded by
	// its length in four bytes. NewTensor and NewStrings make it, Values and
	// Strings read it.
	Data []byte
	// Region is where in shared memory the values are, in place of Data.
	Region Region
}

// RequestedOutput is an output that the response is to hold.
type RequestedOutput struct {
	Name string
	// Classes, when it is not 0, asks for that many top classes as strings
	// "value:index:label" in place of the values.
	Classes int
	// Region is where in shared memory the server writes the values. The output
	// has no Data then.
	Region Region
}

// Region is a part of a registered region of shared memory, in bytes. A region
// without a name is none.
type Region struct {
	Name         string
	Offset, Size uint64
}

// Response is the answer to a request.
type Response struct {
	Model, Version, ID string
	// Parameters come from the model. Values are string, bool, int64, uint64 or
	// float64.
	Parameters map[string]any
	Outputs    []Tensor
}

// Output returns an output by name, nil if there is none.
func (r *Response) Output(name string) *Tensor {
	for i := range r.Outputs {
		if r.Outputs[i].Name == name {
			return &r.Outputs[i]
		}
	}
	return nil
}

// Final reports whether no more responses to the request follow on its stream.
func (r *Response) Final() bool {
	final, ok := r.Parameters["triton_final_response"].(bool)
	return ok && final
}
