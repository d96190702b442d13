package rpc

import (
	"bytes"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"triton/pkg/invariant"
	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

// lendLimit is the size of a tensor from which it is lent to the transport
// instead of copied into the message.
const lendLimit = 16 << 10

// The numbers of the fields that differ between the two messages.
const (
	requestTensors, requestOutputs, requestRaw = 5, 6, 7
	responseTensors, responseRaw               = 5, 6
)

// EncodeRequest writes a ModelInferRequest with raw tensor contents.
func (c *Codec) EncodeRequest(r *kserve.Request) mem.BufferSlice {
	w := newWriter(requestSize(r)+rawSize(r.Inputs), r.Inputs)
	b := w.head
	b = appendString(b, 1, r.ModelName)
	b = appendString(b, 2, r.ModelVersion)
	b = appendString(b, 3, r.ID)
	b = appendRequestParameters(b, r)
	for i := range r.Inputs {
		b = appendTensor(b, requestTensors, &r.Inputs[i])
	}
	for i := range r.Outputs {
		b = appendOutput(b, &r.Outputs[i])
	}
	w.head = b
	return w.raws(requestRaw, r.Inputs)
}

// EncodeResponse writes a ModelInferResponse with raw tensor contents.
func (c *Codec) EncodeResponse(r *kserve.Response) mem.BufferSlice {
	w := newWriter(responseSize(r)+rawSize(r.Outputs), r.Outputs)
	out := w.response(r)
	c.pool.CopiedToClient(w.copied)
	return out
}

func (w *writer) response(r *kserve.Response) mem.BufferSlice {
	w.fields(r)
	return w.raws(responseRaw, r.Outputs)
}

// fields writes what comes before the raw contents.
func (w *writer) fields(r *kserve.Response) {
	b := w.head
	b = appendString(b, 1, r.ModelName)
	b = appendString(b, 2, r.ModelVersion)
	b = appendString(b, 3, r.ID)
	for i := range r.Parameters {
		b = appendParameter(b, &r.Parameters[i])
	}
	for i := range r.Outputs {
		b = appendTensor(b, responseTensors, &r.Outputs[i])
	}
	w.head = b
}

// writer fills one block and lends the transport large tensors in between.
type writer struct {
	block *block
	head  []byte // the written part of it
	size  int    // bytes that will be written
	loans int    // pieces of tensors that will be lent
	// copied is the number of bytes of tensors that were not lent.
	copied int
}

// newWriter returns a writer for a message that needs size bytes of our own.
func newWriter(size int, ts []kserve.Tensor) writer {
	w := writer{block: newBlock(size), size: size}
	w.head = w.block.data[:0]
	for i := range ts {
		if d := &ts[i].Data; d.Len() > lendLimit {
			w.loans += d.Segments()
		}
	}
	return w
}

// rawSize returns how many bytes of the raw contents are copied into our own buffer.
func rawSize(ts []kserve.Tensor) int {
	n := 0
	for i := range ts {
		size := ts[i].Data.Len()
		n += 1 + protowire.SizeVarint(uint64(size))
		if size <= lendLimit {
			n += size
		}
	}
	return n
}

// raws writes the raw contents and ends the message.
func (w *writer) raws(num protowire.Number, ts []kserve.Tensor) mem.BufferSlice {
	if w.loans == 0 {
		w.copyRaws(num, ts)
		return mem.BufferSlice{w.block.buffer(len(w.head))}
	}
	whole := w.block.buffer(len(w.block.data))
	defer whole.Free()
	out := make(mem.BufferSlice, 0, 2*w.loans+1)
	from := 0
	for i := range ts {
		d := &ts[i].Data
		w.rawHeader(num, d.Len())
		if d.Len() <= lendLimit {
			w.copy(d)
			continue
		}
		if len(w.head) > from {
			out = append(out, whole.Slice(from, len(w.head)))
			from = len(w.head)
		}
		for k := range d.Segments() {
			out = append(out, w.lend(d.Segment(k)))
		}
	}
	if len(w.head) > from {
		out = append(out, whole.Slice(from, len(w.head)))
	}
	w.check()
	return out
}

// copyRaws writes raw contents of which nothing is lent, and ends the message.
func (w *writer) copyRaws(num protowire.Number, ts []kserve.Tensor) {
	for i := range ts {
		d := &ts[i].Data
		w.rawHeader(num, d.Len())
		w.copy(d)
	}
	w.check()
}

// check panics, in builds with invariants, when the size of the message was
// miscalculated.
func (w *writer) check() {
	invariant.Check(len(w.head) == w.size, "message of %d bytes, calculated %d", len(w.head), w.size)
}

// lend lends one segment, or copies it where gRPC would not free it.
func (w *writer) lend(s tensor.Segment) mem.Buffer {
	if s.N < minLoan {
		w.copied += s.N
		return mem.SliceBuffer(bytes.Clone(s.Bytes()))
	}
	return lend(s)
}

func (w *writer) rawHeader(num protowire.Number, n int) {
	w.head = protowire.AppendTag(w.head, num, protowire.BytesType)
	w.head = protowire.AppendVarint(w.head, uint64(n))
}

func (w *writer) copy(d *tensor.Data) {
	n := len(w.head)
	w.head = w.head[:n+d.Len()]
	w.copied += d.CopyTo(w.head[n:])
}

func appendBytesHeader(b []byte, num protowire.Number, n int) []byte {
	b = protowire.AppendTag(b, num, protowire.BytesType)
	return protowire.AppendVarint(b, uint64(n))
}

func appendString(b []byte, num protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	return append(appendBytesHeader(b, num, len(s)), s...)
}

func appendTensor(b []byte, num protowire.Number, t *kserve.Tensor) []byte {
	b = appendBytesHeader(b, num, tensorSize(t))
	b = appendString(b, 1, t.Name)
	if t.DataType != tensor.Invalid {
		b = appendString(b, 2, t.DataType.String())
	}
	if len(t.Shape) > 0 {
		b = appendBytesHeader(b, 3, dimsSize(t.Shape))
		for _, d := range t.Shape {
			b = protowire.AppendVarint(b, uint64(d))
		}
	}
	return b
}

func appendOutput(b []byte, o *kserve.RequestedOutput) []byte {
	b = appendBytesHeader(b, requestOutputs, outputSize(o))
	b = appendString(b, 1, o.Name)
	if o.Classification > 0 {
		p := classParameter(o)
		b = appendEntry(b, 2, &p)
	}
	return b
}
