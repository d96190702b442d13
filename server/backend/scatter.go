package backend

import (
	"encoding/binary"

	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// Scatter splits the outputs of a batch along the first dimension into one response per
// request. The responses share the backend's buffers by reference; nothing is copied.
// An instance owns one Scatter and uses it for all its batches: Start, Output for every
// output, then Send or Drop.
type Scatter struct {
	sig       *Signature
	batch     *infer.Batch
	responses []*infer.Response
	shape     tensor.Shape
}

// NewScatter makes a Scatter for the outputs of sig.
func NewScatter(sig *Signature) *Scatter { return &Scatter{sig: sig} }

// Start makes a response for every request of the batch.
func (s *Scatter) Start(b *infer.Batch) {
	s.batch = b
	for range b.Requests {
		s.responses = append(s.responses, infer.NewResponse())
	}
}

// Output adds output i of the signature, with this shape and the bytes buf[off:off+n],
// to the responses of the requests that asked for it. The caller keeps its reference to
// buf. An output that is too short fails the requests whose part is missing.
func (s *Scatter) Output(i int, shape tensor.Shape, buf *tensor.Buffer, off, n int) {
	v := &s.sig.Outputs[i]
	if v.Source != "" {
		s.splitByShape(v, buf, off, n)
		return
	}
	if !s.sig.Batching {
		s.shape = s.clientShape(v, s.shape[:0], shape)
		for k, r := range s.batch.Requests {
			s.add(r, s.responses[k], v, buf, off, n)
		}
		return
	}
	s.split(v, shape, buf, off, n)
}

// split gives each request its rows of one output.
func (s *Scatter) split(v *Value, shape tensor.Shape, buf *tensor.Buffer, off, n int) {
	total := int64(0)
	if len(shape) > 0 {
		total = shape[0]
	}
	var row tensor.Shape
	if len(shape) > 0 {
		row = shape[1:]
	}
	end, rows := off+n, int64(0)
	for k, r := range s.batch.Requests {
		resp := s.responses[k]
		rows += int64(r.Rows())
		if rows > total {
			s.fail(resp, status.New(status.Unsupported,
				"%sfailed to split the output tensor '%s' in responses: expected batch size of at least %d in model output, got %d",
				r.Tag(), v.Name, rows, total))
			continue
		}
		size, err := rowBytes(v.DataType, row, r.Rows(), buf.Bytes()[off:end])
		if err != nil {
			s.fail(resp, status.New(status.Internal, "%soutput tensor '%s': %w", r.Tag(), v.Name, err))
			continue
		}
		s.shape = append(s.shape[:0], int64(r.Rows()))
		s.shape = s.clientShape(v, s.shape, row)
		s.add(r, resp, v, buf, off, size)
		off += size
	}
}

// add gives a request its part of an output, of shape s.shape. It goes to the client if
// the client asked for it, and to the sequence if it is a state. An error ends both.
func (s *Scatter) add(r *infer.Request, resp *infer.Response, v *Value, buf *tensor.Buffer, off, n int) {
	if v.Role == State && resp.Err == nil && r.Membership.States != nil {
		if err := UpdateState(r, v.Name, v.DataType, s.backendShape(v), tensor.SliceData(buf, off, n)); err != nil {
			s.fail(resp, err)
		}
	}
	if resp.Err == nil && v.wants(r) {
		resp.Add(v.Name, v.DataType, s.shape, tensor.SliceData(buf, off, n))
	}
}

// Send sends the final response of every request of the batch. Null requests get none.
func (s *Scatter) Send() {
	for k, r := range s.batch.Requests {
		resp := s.responses[k]
		s.responses[k] = nil
		if r.Membership.Null {
			resp.Release()
			continue
		}
		r.Respond(resp, true)
	}
	s.batch, s.responses = nil, s.responses[:0]
}

// Drop releases the responses unsent, for a batch that failed as a whole.
func (s *Scatter) Drop() {
	for k, resp := range s.responses {
		s.responses[k] = nil
		resp.Release()
	}
	s.batch, s.responses = nil, s.responses[:0]
}

// clientShape appends to dst the shape that the client sees for a backend's shape
// without its batch dimension. A scalar has the configured dimensions.
func (s *Scatter) clientShape(v *Value, dst, shape tensor.Shape) tensor.Shape {
	switch {
	case v.Reshape != nil:
		return tensor.AppendReshaped(dst, shape, v.Reshape, v.Dims)
	case len(shape) == 0:
		return append(dst, v.Dims...)
	}
	return append(dst, shape...)
}

// backendShape returns s.shape as the backend sees it.
func (s *Scatter) backendShape(v *Value) tensor.Shape {
	if v.Reshape == nil {
		return s.shape
	}
	lead := len(s.shape) - len(v.Dims)
	return tensor.AppendReshaped(s.shape[:lead:lead], s.shape[lead:], v.Dims, v.Reshape)
}

func (s *Scatter) fail(resp *infer.Response, err error) {
	if resp.Err == nil {
		resp.Err = err
	}
}

// rowBytes returns the size of the next rows at the start of mem. The shape may
// describe more bytes than mem has.
func rowBytes(d tensor.DataType, row tensor.Shape, rows int, mem []byte) (int, error) {
	per, err := row.Elements()
	if err != nil {
		return 0, err
	}
	each := max(d.Size(), 1)
	if d == tensor.Bytes {
		each = 4 // at least
	}
	if per > int64(len(mem)/each/rows) {
		return 0, tensor.ErrTruncated
	}
	n := int(per) * rows
	if d == tensor.Bytes {
		return elementsLen(mem, n)
	}
	return n * each, nil
}

// elementsLen returns the length of the first n elements of a BYTES tensor.
func elementsLen(mem []byte, n int) (int, error) {
	at := 0
	for range n {
		if len(mem)-at < 4 {
			return 0, tensor.ErrTruncated
		}
		size := int(binary.LittleEndian.Uint32(mem[at:]))
		if size > len(mem)-at-4 {
			return 0, tensor.ErrTruncated
		}
		at += 4 + size
	}
	return at, nil
}
