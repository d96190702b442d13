package host

import (
	"math"
	"slices"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend/child"
)

// Place says where the bytes of a tensor are. Block 0 is a tensor without bytes, and
// child.Inline one whose bytes follow in the frame.
type Place struct {
	Block uint32
	Lease uint32 // from a child: the number to return once the bytes are not used; 0: none
	At    uint64 // offset of the first byte in the memory file
	Size  uint64
}

// Writer finds the places of tensors that are written to frames.
type Writer interface {
	// Place makes the bytes of a tensor, of more than child.InlineBytes, available to the
	// other side.
	Place(d *tensor.Data) (Place, error)
	Copied(n int) // counts bytes copied to a frame
}

// Reader finds the bytes of tensors that were read from frames.
type Reader interface {
	// Data returns the bytes at a place with a reference.
	Data(p Place) (tensor.Data, error)
	// Keep returns a copy of the bytes of a frame.
	Keep(b []byte) (tensor.Data, error)
	// Name returns a name as a string.
	Name(b []byte) string
}

// PutTensor writes a tensor.
func PutTensor(m *child.Message, t *kserve.Tensor, w Writer) error {
	m.String(t.Name)
	return putData(m, t.DataType, t.Shape, &t.Data, w)
}

func putData(m *child.Message, d tensor.DataType, shape tensor.Shape, data *tensor.Data, w Writer) error {
	m.Uint8(uint8(d))
	m.Uint8(uint8(len(shape)))
	for _, n := range shape {
		m.Uint64(uint64(n))
	}
	n := data.Len()
	switch {
	case n == 0:
		putPlace(m, Place{})
	case n <= child.InlineBytes && m.Len() < child.InlineFrame:
		putPlace(m, Place{Block: child.Inline, Size: uint64(n)})
		data.CopyTo(m.Grow(n))
		w.Copied(n)
	default:
		p, err := w.Place(data)
		if err != nil {
			putPlace(m, Place{})
			return err
		}
		putPlace(m, p)
	}
	return nil
}

func putPlace(m *child.Message, p Place) {
	m.Uint32(p.Block)
	m.Uint32(p.Lease)
	m.Uint64(p.At)
	m.Uint64(p.Size)
}

// readTensor reads a tensor. The error of the frame is in r; the returned one is that of the
// tensor's memory.
func readTensor(r *child.Reader, t *kserve.Tensor, from Reader) (err error) {
	t.Name = from.Name(r.Next(uint64(r.Uint32())))
	t.DataType = tensor.DataType(r.Uint8())
	rank := int(r.Uint8())
	t.Shape = slices.Grow(t.Shape[:0], rank)
	for range rank {
		t.Shape = append(t.Shape, int64(r.Uint64()))
	}
	p := Place{Block: r.Uint32(), Lease: r.Uint32(), At: r.Uint64(), Size: r.Uint64()}
	switch {
	case r.Err() != nil || p.Block == 0:
	case p.Block == child.Inline:
		if b := r.Next(p.Size); b != nil {
			t.Data, err = from.Keep(b)
		}
	default:
		t.Data, err = from.Data(p)
	}
	return err
}

// ReadOutput is readTensor for the server, which does not trust a child: the tensor of a fixed-size
// type has as many bytes as its shape says.
func ReadOutput(r *child.Reader, t *kserve.Tensor, from Reader) error {
	if err := readTensor(r, t, from); err != nil || r.Err() != nil {
		return err
	}
	n, err := t.Shape.Elements()
	size := int64(t.DataType.Size())
	if err != nil || t.DataType.String() == tensor.Invalid.String() || size > 0 && (n > math.MaxInt64/size || n*size != int64(t.Data.Len())) {
		return status.New(status.Internal, "the process of the model sent tensor '%s' of type %s and shape %v with %d bytes", t.Name, t.DataType, t.Shape, t.Data.Len())
	}
	return nil
}

// ErrNoMemory is the error of tensors for which there is no shared memory.
func ErrNoMemory(size int) error {
	return status.New(status.Internal, "the server has no memory for %d bytes of tensors", size)
}
