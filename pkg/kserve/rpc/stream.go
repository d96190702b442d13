package rpc

import (
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"triton/pkg/kserve"
)

// StreamResponse is a ModelStreamInferResponse: one response to a request of a stream.
type StreamResponse struct {
	// Error is the reason why the request failed; empty if it succeeded. On the wire it is
	// a text without a code.
	Error string
	// Response is the response; with Error it only identifies the request. It must be set
	// before Unmarshal.
	Response *kserve.Response
}

const (
	streamError    = 1
	streamResponse = 2
)

// EncodeStreamResponse writes a ModelStreamInferResponse with raw tensor
// contents.
func (c *Codec) EncodeStreamResponse(m *StreamResponse) mem.BufferSlice {
	r := m.Response
	inner := ResponseSize(r)
	before := stringSize(m.Error) + 1 + protowire.SizeVarint(uint64(inner))
	w := newWriter(before+responseSize(r)+rawSize(r.Outputs), r.Outputs)
	w.head = appendString(w.head, streamError, m.Error)
	w.head = appendBytesHeader(w.head, streamResponse, inner)
	out := w.response(r)
	c.pool.CopiedToClient(w.copied)
	return out
}

// DecodeStreamResponse reads a ModelStreamInferResponse. It places tensors as
// DecodeRequest does.
func (c *Codec) DecodeStreamResponse(data mem.BufferSlice, m *StreamResponse) error {
	m.Error = ""
	m.Response.Reset()
	d := c.decoder(data)
	defer c.done(d)
	if err := d.streamResponse(m); err != nil {
		return err
	}
	return d.evaluateResponse(m.Response)
}

func (d *decoder) streamResponse(m *StreamResponse) error {
	for {
		num, err := d.field(streamResponse)
		if err != nil || num == 0 {
			return err
		}
		if num == streamError {
			m.Error, err = d.text()
		} else {
			err = d.nestedResponse(m.Response)
		}
		if err != nil {
			return err
		}
	}
}

// nestedResponse reads a response that is a field of the message. If the field is repeated, the
// lists are appended, as protobuf requires.
func (d *decoder) nestedResponse(r *kserve.Response) error {
	n, err := d.length()
	if err != nil {
		return err
	}
	after := d.left - n
	d.left = n
	err = d.response(r)
	d.left = after
	return err
}
