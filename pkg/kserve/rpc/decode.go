package rpc

import (
	"google.golang.org/grpc/mem"

	"triton/pkg/kserve"
)

// Request is a ModelInferRequest on its way into a server.
type Request struct {
	// Message is filled by Unmarshal and must be set before.
	Message *kserve.Request
	// Err is what is wrong with the message although it could be read: a
	// *status.Error that the caller reports once it has found the model. The
	// names, the version and the id in Message count even then.
	Err error
}

// DecodeRequest reads a ModelInferRequest. Large tensors stay in the
// transport's buffers, which the message then holds; small ones are copied into
// one stable buffer. The error is for bytes that are no such message.
func (c *Codec) DecodeRequest(data mem.BufferSlice, r *Request) error { panic("todo") }

// DecodeResponse reads a ModelInferResponse, with memory as DecodeRequest.
func (c *Codec) DecodeResponse(data mem.BufferSlice, r *kserve.Response) error { panic("todo") }
