package backend

import (
	"unsafe"

	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// align is the alignment in bytes of inputs that are copied into one buffer: libraries
// use vector instructions up to this width.
const align = 64

// maxBatchInput bounds the size in bytes of a batch input. Shapes come from clients,
// and a dimension of 0 makes items of any shape take no bytes.
const maxBatchInput = 1 << 30

// Gather joins the inputs of a batch: every input becomes one contiguous run of bytes
// at a stable address, naturally aligned for its type. A batch of one request whose
// memory is already like that is passed through; everything else is copied once, into
// one buffer for all inputs. An instance owns one Gather and uses it for all its
// batches.
type Gather struct {
	// Inputs are in the order of the signature's inputs.
	Inputs []Gathered

	sig    *Signature
	pool   *tensor.Pool
	copies *tensor.Buffer
	need   int
}

// Gathered is one input of the batch.
type Gathered struct {
	// Present is false for an optional input that no request has.
	Present bool
	// Shape is the shape for the backend, with the rows of the whole batch.
	Shape tensor.Shape
	// Bytes is valid until Release.
	Bytes []byte

	at             int // offset in the buffer of copies, or -1 when passed through
	batchInputSize int // size of a batch input
}

// NewGather makes a Gather for the inputs of sig.
func NewGather(sig *Signature, pool *tensor.Pool) *Gather {
	return &Gather{Inputs: make([]Gathered, len(sig.Inputs)), sig: sig, pool: pool}
}

// Collect fills Inputs from the batch. The bytes may belong to the requests, which must
// stay alive until Release. After an error nothing needs to be released.
func (g *Gather) Collect(b *infer.Batch) error {
	g.need = 0
	for i := range g.Inputs {
		if err := g.plan(b, i); err != nil {
			return err
		}
	}
	if g.need == 0 {
		return nil
	}
	return g.copy(b)
}

// copy fills the inputs that are not passed through.
func (g *Gather) copy(b *infer.Batch) error {
	copies, err := g.pool.TryGet(g.need) // may fail: need can exceed the bytes that clients sent
	if err != nil {
		return status.Wrap(err, status.Internal, "no memory for the inputs of a batch: %w", err)
	}
	g.copies = copies
	mem := copies.Bytes()
	for i := range g.Inputs {
		in := &g.Inputs[i]
		if in.at < 0 {
			continue
		}
		if v := &g.sig.Inputs[i]; v.Role == BatchInput {
			in.Bytes = mem[in.at : in.at+in.batchInputSize]
			g.writeBatchInput(b, v, in.Bytes)
			continue
		}
		off := in.at
		for _, r := range b.Requests {
			off += r.InputNear(i, g.sig.Inputs[i].Name).Data.CopyTo(mem[off:])
		}
		in.Bytes = mem[in.at:off]
		g.pool.CopiedToModel(off - in.at)
	}
	return nil
}

// Release ends the use of the bytes.
func (g *Gather) Release() {
	if g.copies != nil {
		g.copies.Release()
		g.copies = nil
	}
	for i := range g.Inputs {
		g.Inputs[i].Bytes = nil
	}
}

// plan computes the shape and size of input i and decides whether it is copied. A
// copied input gets its offset here and its bytes once all sizes are known.
func (g *Gather) plan(b *infer.Batch, i int) error {
	v, in := &g.sig.Inputs[i], &g.Inputs[i]
	in.Present, in.Bytes, in.at = false, nil, -1
	if v.Role == BatchInput {
		return g.planBatchInput(b, v, in)
	}
	first := b.Requests[0].InputNear(i, v.Name)
	size := 0
	for _, r := range b.Requests {
		t := r.InputNear(i, v.Name)
		if (t == nil) != (first == nil) || t == nil && !v.Optional {
			return missing(v, r)
		}
		if t == nil {
			continue
		}
		if t != first && !v.Ragged && !sameRowShape(first.Shape, t.Shape) {
			return status.New(status.InvalidArg, "unexpected shape %v for input '%s' in a batch with shape %v", t.Shape, v.Name, first.Shape)
		}
		size += t.Data.Len()
	}
	if first == nil {
		return nil
	}
	in.Present = true
	if err := g.shape(b, i, first.Shape); err != nil {
		return err
	}
	if err := checkSize(v, in.Shape, size); err != nil {
		return err
	}
	if len(b.Requests) == 1 && passable(&first.Data, v.DataType) {
		in.Bytes, _ = first.Data.Contiguous()
		return nil
	}
	if v.Role == State {
		if in.Bytes = span(b, i, v); in.Bytes != nil {
			return nil
		}
	}
	in.at = g.reserve(size)
	return nil
}

// planBatchInput does the same for an input that no request has.
func (g *Gather) planBatchInput(b *infer.Batch, v *Value, in *Gathered) (err error) {
	if in.Shape, err = g.batchInputShape(b, v, in.Shape); err != nil {
		return err
	}
	n, err := in.Shape.ByteSize(v.DataType)
	if err != nil || n > maxBatchInput {
		return status.New(status.InvalidArg, "batch input '%s' of shape %v is too large", v.Name, in.Shape)
	}
	in.Present, in.batchInputSize, in.at = true, int(n), g.reserve(int(n))
	return nil
}

// reserve returns the offset of the next copy and adds its size to the buffer.
func (g *Gather) reserve(size int) int {
	at := g.need
	g.need += (size + align - 1) &^ (align - 1)
	return at
}

// shape sets the shape of input i for the backend, from the shape in the first request.
func (g *Gather) shape(b *infer.Batch, i int, first tensor.Shape) (err error) {
	v, in := &g.sig.Inputs[i], &g.Inputs[i]
	if v.Ragged {
		in.Shape, err = g.raggedShape(in.Shape, b, i, v)
		return err
	}
	in.Shape = in.Shape[:0]
	if g.sig.Batching {
		in.Shape = append(in.Shape, int64(b.Rows))
		first = first[min(1, len(first)):]
	}
	if v.Reshape == nil {
		in.Shape = append(in.Shape, first...)
		return nil
	}
	in.Shape = tensor.AppendReshaped(in.Shape, first, v.Dims, v.Reshape)
	return nil
}

// sameRowShape reports whether two shapes are equal except in the first dimension.
func sameRowShape(a, b tensor.Shape) bool {
	return len(a) == len(b) && (len(a) == 0 || a[1:].Equal(b[1:]))
}

// checkSize returns an error if an input has fewer or more bytes than its shape needs.
func checkSize(v *Value, shape tensor.Shape, size int) error {
	if v.DataType == tensor.Bytes {
		return nil // its reader counts the elements
	}
	want, err := shape.ByteSize(v.DataType)
	if err != nil {
		return status.New(status.InvalidArg, "shape %v of input '%s': %w", shape, v.Name, err)
	}
	if int64(size) != want {
		return status.New(status.InvalidArg, "unexpected total byte size %d for input '%s', expecting %d", size, v.Name, want)
	}
	return nil
}

// passable reports whether the data can be passed to the library without a copy.
func passable(d *tensor.Data, t tensor.DataType) bool {
	if !d.Stable() {
		return false
	}
	mem, _ := d.Contiguous()
	return aligned(mem, t)
}

func aligned(mem []byte, t tensor.DataType) bool {
	return len(mem) == 0 || uintptr(unsafe.Pointer(unsafe.SliceData(mem)))%uintptr(max(t.Size(), 1)) == 0
}

func missing(v *Value, r *infer.Request) error {
	if v.Optional {
		return status.New(status.InvalidArg, "optional input '%s' is in some requests of the batch and not in others", v.Name)
	}
	return status.New(status.InvalidArg, "%sinput '%s' is missing", r.Tag(), v.Name)
}
