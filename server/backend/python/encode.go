package python

import (
	"slices"

	"triton/pkg/tensor"
	"triton/server/backend/child"
	"triton/server/infer"
)

// put writes one request.
func (in *instance) put(m *child.Message, r *infer.Request) error {
	flags := uint32(0)
	if r.SequenceStart {
		flags |= 1
	}
	if r.SequenceEnd {
		flags |= 2
	}
	m.Uint32(flags)
	m.Uint64(r.TimeoutMicros)
	if r.SequenceIDStr != "" {
		m.Uint8(1)
	} else {
		m.Uint8(0)
	}
	m.Uint64(r.SequenceID)
	m.String(r.SequenceIDStr)
	m.String(r.ID)
	in.text = appendParameters(in.text[:0], r.Parameters)
	m.Uint32(uint32(len(in.text)))
	m.Raw(in.text)
	m.String(contextOf(r))
	if len(r.Outputs) == 0 {
		m.Uint32(uint32(len(in.model.outputs)))
		for _, name := range in.model.outputs {
			m.String(name)
		}
	} else {
		m.Uint32(uint32(len(r.Outputs)))
		for i := range r.Outputs {
			m.String(r.Outputs[i].Name)
		}
	}
	return in.putInputs(m, r)
}

// contextOf returns the trace context of a request for models that continue its trace;
// empty when there is none.
func contextOf(r *infer.Request) string {
	if t, ok := r.Trace.(interface{ Context() string }); ok {
		return t.Context()
	}
	return ""
}

// putInputs copies the inputs to where the child can read them, in one block.
func (in *instance) putInputs(m *child.Message, r *infer.Request) error {
	all := r.Inputs
	if extras := r.Extras(); len(extras) > 0 {
		all = slices.Concat(all, extras)
	}
	size := 0
	for i := range all {
		size += aligned(all[i].Data.Len())
	}
	var block *tensor.Buffer
	at := int64(0)
	if size > 0 {
		var err error
		var number uint32
		if number, block, at, err = in.events.block(size); err != nil {
			return err
		}
		in.sent = append(in.sent, number)
		m.Uint32(number)
	} else {
		m.Uint32(0)
	}
	m.Uint32(uint32(len(all)))
	off := 0
	for i := range all {
		t := &all[i]
		n := t.Data.Len()
		m.String(t.Name)
		m.Uint8(uint8(t.DataType))
		m.Uint8(uint8(len(t.Shape)))
		for _, d := range t.Shape {
			m.Uint64(uint64(d))
		}
		m.Uint64(uint64(at + int64(off)))
		m.Uint64(uint64(n))
		if n > 0 {
			t.Data.CopyTo(block.Bytes()[off : off+n])
			in.model.spec.Pool.CopiedToModel(n)
			off += aligned(n)
		}
	}
	return nil
}
