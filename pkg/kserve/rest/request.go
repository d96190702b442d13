package rest

import (
	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

// DefaultMaxInput is the default of Decoder.MaxInput, 64 MiB.
const DefaultMaxInput = 64 << 20

// Decoder reads inference requests. It keeps scratch between calls and must not
// be used by two goroutines at once.
type Decoder struct {
	// Pool is where tensors that are not views on the body come from.
	Pool *tensor.Pool
	// MaxInput limits the JSON text and each tensor that comes from it; 0 stands
	// for DefaultMaxInput.
	MaxInput int64
}

// DecodeRequest reads a request from body: headerLen bytes of JSON, then the raw
// bytes of the binary inputs. A headerLen of 0 makes it a raw request, whose
// whole body is the data of the model's only input. req.ModelName must be set,
// for messages. Binary inputs are views that retain body.
func (d *Decoder) DecodeRequest(req *kserve.Request, body *tensor.Buffer, headerLen int) error {
	panic("to be written")
}
