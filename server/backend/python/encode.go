package python

import (
	"slices"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
	"triton/server/backend/child"
	"triton/server/infer"
)

// put writes one request: fixed fields, its form, its texts, the places of its inputs, and
// the inputs if they are small. The form holds what most requests have in common: the
// child reads it once and finds it again by its bytes.
func (in *instance) put(m *child.Message, r *infer.Request) error {
	at := m.Len()
	flags := uint32(0)
	if r.SequenceStart {
		flags |= flagSequenceStart
	}
	if r.SequenceEnd {
		flags |= flagSequenceEnd
	}
	m.Uint32(flags)
	m.Uint64(r.TimeoutMicros)
	m.Uint64(r.SequenceID)
	lengths := m.Len()
	m.Uint64(0) // the block, and the length of the request
	m.Uint64(0) // the lengths of the form and the texts
	inputs := r.Inputs
	if extras := r.Extras(); len(extras) > 0 {
		inputs = slices.Concat(inputs, extras)
	}
	start := m.Len()
	in.putForm(m, r, inputs)
	m.PutUint32(lengths+8, uint32(m.Len()-start))
	start = m.Len()
	in.putTexts(m, r)
	m.PutUint32(lengths+12, uint32(m.Len()-start))
	block, err := in.putInputs(m, r, inputs)
	m.PutUint32(lengths, block)
	m.PutUint32(lengths+4, uint32(m.Len()-at))
	return err
}

// putForm writes the names of the requested outputs, and the names, types and shapes of the
// inputs.
func (in *instance) putForm(m *child.Message, r *infer.Request, inputs []kserve.Tensor) {
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
	m.Uint32(uint32(len(inputs)))
	for i := range inputs {
		shape := inputs[i].Shape
		if in.model.inputShapes != nil {
			shape = in.model.inputShapes.shape(&inputs[i], in.model.lead)
		}
		putHead(m, inputs[i].Name, inputs[i].DataType, shape)
	}
}

// putTexts writes the correlation ID if it is a text, the ID, the parameters and the trace
// context; nothing if all are empty.
func (in *instance) putTexts(m *child.Message, r *infer.Request) {
	trace := contextOf(r)
	if r.SequenceIDStr == "" && r.ID == "" && len(r.Parameters) == 0 && trace == "" {
		return
	}
	m.String(r.SequenceIDStr)
	m.String(r.ID)
	in.text = appendParameters(in.text[:0], r.Parameters)
	m.Uint32(uint32(len(in.text)))
	m.Raw(in.text)
	m.String(trace)
}

// contextOf returns the trace context of a request, with which models continue its trace;
// empty if the request is not traced.
func contextOf(r *infer.Request) string {
	if t, ok := r.Trace.(interface{ Context() string }); ok {
		return t.Context()
	}
	return ""
}

// putInputs writes the places of the inputs and copies them to where the child can read
// them: to one block, or behind the places. It returns the number of the block; 0: none.
func (in *instance) putInputs(m *child.Message, r *infer.Request, inputs []kserve.Tensor) (number uint32, err error) {
	size := 0
	for i := range inputs {
		size += aligned(inputs[i].Data.Len())
	}
	if size <= inlineBytes && m.Len() < inlineFrame {
		in.putInline(m, inputs)
		return 0, nil
	}
	if in.mayGive(r, inputs) {
		return in.give(m, &inputs[0].Data), nil
	}
	number, block, at, err := in.events.block(size)
	if err != nil {
		return 0, err
	}
	in.sent = append(in.sent, number)
	off := 0
	for i := range inputs {
		d := &inputs[i].Data
		n := d.Len()
		m.Uint64(uint64(at + int64(off)))
		m.Uint64(uint64(n))
		d.CopyTo(block.Bytes()[off : off+n])
		in.model.spec.Pool.CopiedToModel(n)
		off += aligned(n)
	}
	return number, nil
}

// mayGive reports whether the child may have the memory of the inputs instead of a copy: only this
// request refers to it, nothing else is in it, and nothing reads it after the model has written to it.
func (in *instance) mayGive(r *infer.Request, inputs []kserve.Tensor) bool {
	if !r.OwnInputs || len(inputs) != 1 || r.MayReschedule() || r.Membership.Null || !in.events.mapped(&inputs[0].Data) {
		return false
	}
	s := inputs[0].Data.Segment(0)
	return s.Off == 0 && s.N == s.Buffer.Len() && s.Buffer.Sole()
}

// give writes the place of an input that becomes a block, and returns the number of the block.
func (in *instance) give(m *child.Message, d *tensor.Data) uint32 {
	b := d.Segment(0).Buffer
	_, at, _ := b.Shared()
	number := in.events.addBlock(b.Retain())
	in.sent = append(in.sent, number)
	m.Uint64(uint64(at))
	m.Uint64(uint64(d.Len()))
	return number
}

// putInline writes the places of inputs and the inputs.
func (in *instance) putInline(m *child.Message, inputs []kserve.Tensor) {
	places := m.Len()
	m.Grow(16 * len(inputs))
	for i := range inputs {
		d := &inputs[i].Data
		n := d.Len()
		m.Align(inlineAlign)
		m.PutUint64(places+16*i, uint64(m.Len()))
		m.PutUint64(places+16*i+8, uint64(n))
		d.CopyTo(m.Grow(n))
		in.model.spec.Pool.CopiedToModel(n)
	}
}
