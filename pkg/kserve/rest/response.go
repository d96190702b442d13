package rest

import (
	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

// Labels gives the class names of outputs; nil where there are none.
type Labels interface{ Labels(output string) []string }

// Encoder writes inference responses. It keeps scratch between calls and must
// not be used by two goroutines at once.
type Encoder struct {
	// Batched says that the model's outputs have a batch dimension.
	Batched bool
	Labels  Labels
}

// EncodeResponse appends the JSON text of resp to dst, with the outputs in the
// form that req asks for, and returns it with the outputs whose bytes follow
// the text. Those are loans that end with resp or with the encoder's next call.
func (e *Encoder) EncodeResponse(dst []byte, resp *kserve.Response, req *kserve.Request) (text []byte, tail []tensor.Data, err error) {
	panic("to be written")
}
