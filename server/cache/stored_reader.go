package cache

import (
	"encoding/binary"
	"math"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

// storedReader decodes a value. After an error it returns zeros.
type storedReader struct {
	b   []byte
	at  int
	bad bool
}

func (r *storedReader) take(n uint64) []byte {
	if r.bad || n > uint64(len(r.b)-r.at) {
		r.bad = true
		return nil
	}
	part := r.b[r.at : r.at+int(n)]
	r.at += int(n)
	return part
}

func (r *storedReader) uint8() uint8 {
	if p := r.take(1); p != nil {
		return p[0]
	}
	return 0
}

func (r *storedReader) uint64() uint64 {
	if p := r.take(8); p != nil {
		return binary.LittleEndian.Uint64(p)
	}
	return 0
}

// count reads the number of items that take at least a byte each.
func (r *storedReader) count() uint32 {
	p := r.take(4)
	if p == nil {
		return 0
	}
	n := binary.LittleEndian.Uint32(p)
	if uint64(n) > uint64(len(r.b)-r.at) {
		r.bad = true
		return 0
	}
	return n
}

func (r *storedReader) text() string { return string(r.take(uint64(r.count()))) }

func (r *storedReader) parameter() (p kserve.Parameter) {
	p.Name, p.Kind = r.text(), kserve.ParameterKind(r.uint8())
	if p.Kind == kserve.ParamString {
		p.String = r.text()
		return p
	}
	n := r.uint64()
	switch p.Kind {
	case kserve.ParamBool:
		p.Bool = n == 1
		r.bad = r.bad || n > 1
	case kserve.ParamInt:
		p.Int = int64(n)
	case kserve.ParamUint:
		p.Uint = n
	case kserve.ParamDouble:
		p.Double = math.Float64frombits(n)
	default:
		r.bad = true
	}
	return p
}

// output reads one tensor. Its data is a view of whole.
func (r *storedReader) output(whole *tensor.Buffer, t *kserve.Tensor) {
	t.Name, t.DataType = r.text(), tensor.DataType(r.uint8())
	for n := r.count(); n > 0 && !r.bad; n-- {
		t.Shape = append(t.Shape, int64(r.uint64()))
	}
	n := r.uint64()
	if r.take(n) == nil && n > 0 || !plausible(t, n) {
		r.bad = true
		return
	}
	if n > 0 {
		t.Data = tensor.SliceData(whole, r.at-int(n), int(n))
	}
}

// plausible reports whether a tensor of this type and shape may have n bytes.
func plausible(t *kserve.Tensor, n uint64) bool {
	if t.DataType <= tensor.Invalid || t.DataType > tensor.BF16 {
		return false
	}
	if t.DataType == tensor.Bytes {
		_, err := t.Shape.Elements()
		return err == nil
	}
	want, err := t.Shape.ByteSize(t.DataType)
	return err == nil && uint64(want) == n
}
