package python

import (
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend/child"
)

// send sends one response of a call to the child, which owns its memory from then on.
func (c *call) send(d delivery) {
	if d.resp == nil && d.final && !c.decoupled {
		d.resp = failed(status.New(status.Internal, "Unexpected empty response."))
	}
	if d.final {
		c.events.mu.Lock()
		delete(c.events.mu.calls, c.id)
		c.events.mu.Unlock()
	}
	if d.resp != nil && d.resp.Err == nil {
		d.resp.Err = c.encode(d)
		if d.resp.Err == nil {
			d.resp.Release()
			c.events.freeAgain()
			return
		}
	}
	c.begin(d.final, d.resp != nil)
	if d.resp != nil {
		c.out.Uint8(resultError)
		c.out.Uint8(uint8(status.CodeOf(d.resp.Err)))
		c.out.String(d.resp.Err.Error())
		d.resp.Release()
	}
	_ = c.process.PostWait(&c.out) // the body is short
}

func (c *call) begin(final, full bool) {
	m := c.out.Begin(frameResponse)
	m.Uint32(c.id)
	m.Uint8(boolByte(final))
	m.Uint8(boolByte(full))
}

func boolByte(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// freeAgain releases the memory of a response that came after the end of the child.
func (e *events) freeAgain() {
	e.mu.Lock()
	freed := e.mu.freed
	e.mu.Unlock()
	if freed {
		e.free()
	}
}

// encode sends a response with outputs. Outputs that the child can map are not copied.
func (c *call) encode(d delivery) error {
	e := c.events
	size := 0
	for i := range d.resp.Outputs {
		if t := &d.resp.Outputs[i]; t.Data.Len() > inlineBytes && !e.mapped(&t.Data) {
			size += aligned(t.Data.Len())
		}
	}
	var copies *tensor.Buffer
	var number uint32
	var base int64
	if size > 0 {
		var err error
		if number, copies, base, err = e.block(size); err != nil {
			return err
		}
	}
	c.begin(d.final, true)
	m := &c.out
	m.Uint8(resultResponse)
	text := appendParameters(nil, d.resp.Parameters)
	m.Uint32(uint32(len(text)))
	m.Raw(text)
	m.Uint32(uint32(len(d.resp.Outputs)))
	off := 0
	for i := range d.resp.Outputs {
		t := &d.resp.Outputs[i]
		putHead(m, t.Name, t.DataType, t.Shape)
		n := t.Data.Len()
		switch {
		case n == 0:
			putPlace(m, 0, 0, 0, 0)
		case n <= inlineBytes:
			place := m.Len()
			putPlace(m, inline, 0, 0, n)
			start := m.Len()
			m.Align(inlineAlign)
			m.PutUint64(place+12, uint64(m.Len()-start)) // how far its bytes are behind the place
			t.Data.CopyTo(m.Grow(n))
			e.model.spec.Pool.CopiedToModel(n)
		case e.mapped(&t.Data):
			s := t.Data.Segment(0)
			_, at, _ := s.Buffer.Shared()
			putPlace(m, e.addBlock(s.Buffer.Retain()), at, at+int64(s.Off), n)
		default:
			t.Data.CopyTo(copies.Bytes()[off : off+n])
			e.model.spec.Pool.CopiedToModel(n)
			putPlace(m, number, base, base+int64(off), n)
			off += aligned(n)
		}
	}
	return c.process.PostWait(m)
}

// putHead writes the name, the type and the shape of a tensor.
func putHead(m *child.Message, name string, kind tensor.DataType, shape tensor.Shape) {
	m.String(name)
	m.Uint8(uint8(kind))
	m.Uint8(uint8(len(shape)))
	for _, d := range shape {
		m.Uint64(uint64(d))
	}
}

// putPlace writes where a tensor is: its block, the offset of the block in the memory
// file, its own offset there and its size.
func putPlace(m *child.Message, block uint32, base, at int64, n int) {
	m.Uint32(block)
	m.Uint64(uint64(base))
	m.Uint64(uint64(at))
	m.Uint64(uint64(n))
}

// mapped reports whether the child can map the data where it is.
func (e *events) mapped(d *tensor.Data) bool {
	if d.Segments() != 1 {
		return false
	}
	file, _, ok := d.Segment(0).Buffer.Shared()
	return ok && file == e.model.memory.file
}
