package rpc

import (
	"google.golang.org/grpc/mem"

	"triton/pkg/kserve"
)

// EncodeRequest writes a ModelInferRequest with raw tensor contents.
func (c *Codec) EncodeRequest(r *kserve.Request) mem.BufferSlice { panic("todo") }

// EncodeResponse writes a ModelInferResponse with raw tensor contents.
func (c *Codec) EncodeResponse(r *kserve.Response) mem.BufferSlice { panic("todo") }
