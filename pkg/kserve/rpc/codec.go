// Package rpc is the protobuf codec of inference messages for gRPC, for servers
// and clients: it reads and writes kserve messages over the transport's buffers
// without generated structs in between. All other messages go through the stock
// protobuf codec. It checks the form of a message, not whether the message fits
// its model.
package rpc

import (
	"sync"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

// The names of the service and its inference calls.
const (
	Service          = "inference.GRPCInferenceService"
	ModelInfer       = "/" + Service + "/ModelInfer"
	ModelStreamInfer = "/" + Service + "/ModelStreamInfer"
)

// Codec is a gRPC codec for both sides of a connection. Servers pass it to
// grpc.ForceServerCodecV2, clients to grpc.ForceCodecV2. It is safe for
// concurrent use.
//
//	Marshal    *kserve.Request, *kserve.Response, *StreamResponse, protobuf messages
//	Unmarshal  *Request, *kserve.Response, *StreamResponse, protobuf messages
//
// Marshal takes references to the tensors that it does not copy: the message
// stays the caller's and may be released as soon as Marshal has returned.
type Codec struct {
	pool     *tensor.Pool
	names    names
	stock    encoding.CodecV2
	decoders sync.Pool
}

var _ encoding.CodecV2 = (*Codec)(nil)

// NewCodec returns a codec that takes message and tensor memory from pool.
func NewCodec(pool *tensor.Pool) *Codec {
	c := &Codec{pool: pool, stock: encoding.GetCodecV2(proto.Name)}
	c.names.init()
	return c
}

// Name returns the content subtype of plain protobuf.
func (c *Codec) Name() string { return proto.Name }

// Marshal writes a message.
func (c *Codec) Marshal(v any) (mem.BufferSlice, error) {
	switch m := v.(type) {
	case *kserve.Response:
		return c.EncodeResponse(m), nil
	case *kserve.Request:
		return c.EncodeRequest(m), nil
	case *StreamResponse:
		return c.EncodeStreamResponse(m), nil
	}
	return c.stock.Marshal(v)
}

// Unmarshal reads a message. Bytes that are not a *Request set Request.Broken instead of an
// error, because gRPC would send its own text for an error.
func (c *Codec) Unmarshal(data mem.BufferSlice, v any) error {
	switch m := v.(type) {
	case *Request:
		m.Broken = c.DecodeRequest(data, m)
		return nil
	case *kserve.Response:
		return c.DecodeResponse(data, m)
	case *StreamResponse:
		return c.DecodeStreamResponse(data, m)
	}
	return c.stock.Unmarshal(data, v)
}
