package host

import (
	"errors"
	"strings"

	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/backend/child"
	"triton/server/infer"
)

// PutError writes an error; nil is none.
func PutError(m *child.Message, err error) {
	if err == nil {
		m.Uint8(0)
		return
	}
	e := status.From(err)
	kind := uint8(1)
	if errors.Is(err, backend.ErrBroken) {
		kind = 2
	}
	m.Uint8(kind)
	m.Uint8(uint8(e.Code))
	m.String(e.Msg)
}

// ReadError reads an error. It is backend.ErrBroken if it was.
func ReadError(r *child.Reader) error {
	kind := r.Uint8()
	if kind == 0 {
		return nil
	}
	e := &status.Error{Code: status.Code(r.Uint8()), Msg: strings.ToValidUTF8(r.String(), "?")}
	if kind == 2 {
		e.Cause = backend.ErrBroken
	}
	return e
}

// PutResponse writes a response; nil is one without data. An output that has no place in
// shared memory makes it an error.
func PutResponse(m *child.Message, resp *infer.Response, w Writer) {
	if resp == nil {
		m.Uint8(0)
		return
	}
	m.Uint8(1)
	m.Uint64(uint64(age(resp.OutputStart)))
	at := m.Len()
	m.Uint32(0) // whether an output has no place
	PutError(m, resp.Err)
	putParameters(m, resp.Parameters)
	m.Uint32(uint32(len(resp.Outputs)))
	for i := range resp.Outputs {
		if PutTensor(m, &resp.Outputs[i], w) != nil {
			m.PutUint32(at, uint32(min(resp.Outputs[i].Data.Len(), 1<<32-1)))
		}
	}
}

// age returns how long ago a time by infer.Now was, plus one; 0 for no time. The clocks of the
// two processes have different origins.
func age(at int64) int64 {
	if at == 0 {
		return 0
	}
	return max(infer.Now()-at, 0) + 1
}

// ReadResponse reads a response; nil is one without data.
func ReadResponse(r *child.Reader, mem Reader) *infer.Response {
	if r.Uint8() == 0 {
		return nil
	}
	resp := infer.NewResponse()
	if past := int64(r.Uint64()); past > 0 {
		resp.OutputStart = max(infer.Now()-past, 1)
	}
	lacking := r.Uint32()
	resp.Err = ReadError(r)
	resp.Parameters = readParameters(r, resp.Parameters, mem)
	for range r.Uint32() {
		if r.Err() != nil {
			break
		}
		err := ReadOutput(r, resp.AddOutput(), mem)
		if lacking > 0 {
			err = ErrNoMemory(int(lacking))
		}
		if err != nil && resp.Err == nil {
			resp.Err = err
		}
	}
	return resp
}
