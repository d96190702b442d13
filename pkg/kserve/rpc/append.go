package rpc

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"triton/pkg/kserve"
)

// AppendMessage appends the response of an inference to b, as Marshal writes it, if no tensor of it would be lent. If
// it reports false, b is as it was.
func (c *Codec) AppendMessage(b []byte, v any) ([]byte, bool) {
	switch m := v.(type) {
	case *kserve.Response:
		return c.append(b, "", m, false)
	case *StreamResponse:
		return c.append(b, m.Error, m.Response, true)
	}
	return b, false
}

// append appends a response, or the message of a stream around it.
func (c *Codec) append(b []byte, problem string, r *kserve.Response, stream bool) ([]byte, bool) {
	for i := range r.Outputs {
		if r.Outputs[i].Data.Len() > lendLimit {
			return b, false
		}
	}
	size, inner := responseSize(r)+rawSize(r.Outputs), 0
	if stream {
		inner = ResponseSize(r)
		size += stringSize(problem) + 1 + protowire.SizeVarint(uint64(inner))
	}
	w := writer{head: slices.Grow(b, size), size: len(b) + size}
	if stream {
		w.head = appendString(w.head, streamError, problem)
		w.head = appendBytesHeader(w.head, streamResponse, inner)
	}
	w.fields(r)
	w.copyRaws(responseRaw, r.Outputs)
	c.pool.CopiedToClient(w.copied)
	return w.head, true
}
