package rpc

import (
	"slices"
	"unsafe"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

// An element of a list may take two bytes on the wire, and fifty times as much in memory.
// Three rules keep the memory of a message in proportion to its bytes: no list has more
// than maxElements; the elements of a long list must have at least the size of meaningful
// ones; and the memory of a long list is taken once, after its elements were counted.
const (
	// maxElements limits every list of a message.
	maxElements = kserve.MaxElements
	// freeElements is the number of elements that a list may have regardless of their size.
	freeElements = 1 << 10
	// fewElements is the number of elements that are read before the rest is counted.
	fewElements = 16
)

// list is a repeated field of a message. Its number is that of the field.
type list struct {
	num  protowire.Number
	name string // in errors
	// minBytes is a lower bound for the bytes of a meaningful element on the wire: an input
	// has a name, a type, a shape and raw contents.
	minBytes int
	size     int // bytes of an element in memory
}

const (
	sizeOfTensor    = int(unsafe.Sizeof(kserve.Tensor{}) + unsafe.Sizeof(contents{}) + unsafe.Sizeof(dataPlan{}))
	sizeOfOutput    = int(unsafe.Sizeof(kserve.RequestedOutput{}))
	sizeOfSpan      = int(unsafe.Sizeof(span{}))
	sizeOfParameter = int(unsafe.Sizeof(kserve.Parameter{}))
)

// tensorsField is the field of the tensors, in requests and responses alike.
const tensorsField = 5

// The lists of requests and responses.
var (
	requestParamList  = list{4, "parameters", 8, sizeOfParameter}
	requestInputList  = list{tensorsField, "inputs", 16, sizeOfTensor}
	requestOutputList = list{6, "requested outputs", 5, sizeOfOutput}
	requestRawList    = list{7, "raw_input_contents", 16, sizeOfSpan}

	responseParamList  = requestParamList
	responseOutputList = list{tensorsField, "outputs", 16, sizeOfTensor}
	responseRawList    = list{6, "raw_output_contents", 16, sizeOfSpan}
)

// Budget limits the memory that messages may take in addition to their bytes.
type Budget interface {
	// Take requests bytes. Its error is sent to the client.
	Take(bytes int) error
}

// reserve makes room in s for the next element of list l and for those that follow. If the
// message has too many elements, reserve skips the element and returns false.
func reserve[T any](d *decoder, l *list, s []T) (_ []T, ok bool, err error) {
	if d.refused[l.num] {
		return s, false, d.skipBytes()
	}
	if len(s) < d.counted[l.num] {
		return s, true, nil
	}
	total := len(s) + d.count(l.num)
	if limit := min(maxElements, freeElements+d.size/l.minBytes); total > limit {
		d.refused[l.num] = true
		if d.tooMany == nil {
			d.tooMany = invalid("the message has %d %s, at most %d can be in a message of %d bytes", total, l.name, limit, d.size)
		}
		return s, false, d.skipBytes()
	}
	d.counted[l.num] = total
	if err := d.take((total - len(s)) * l.size); err != nil {
		return s, false, err
	}
	return slices.Grow(s, total-len(s)), true, nil
}

// take requests memory from the budget.
func (d *decoder) take(bytes int) error {
	if d.budget == nil {
		return nil
	}
	return d.budget.Take(bytes)
}

// skipBytes skips a bytes field.
func (d *decoder) skipBytes() error {
	_, err := d.span()
	return err
}

// count returns the number of fields with that number from here on, including the field
// whose tag has just been read. It stops at malformed bytes, which the reader will report.
func (d *decoder) count(num protowire.Number) int {
	from := d.scanner
	defer func() { d.scanner = from }()
	n := 0
	for at := num; at != 0; {
		if d.skipBytes() != nil {
			return n
		}
		if at == num {
			n++
		}
		var err error
		if at, err = d.field(lastField); err != nil {
			return n
		}
	}
	return n
}

// CountFields returns how many bytes fields with that number a message has, up to malformed bytes.
func CountFields(data mem.BufferSlice, num protowire.Number) int {
	var d decoder
	d.reset(data)
	n := 0
	for {
		at, err := d.field(num)
		if err != nil || at == 0 || d.skipBytes() != nil {
			return n
		}
		if at == num {
			n++
		}
	}
}

// dims reads a shape, packed or not.
func (d *decoder) dims(s tensor.Shape, f field) (tensor.Shape, error) {
	n := 1
	if f.typ == protowire.BytesType {
		n = len(f.b) // at most
	}
	if len(s)+n > fewElements {
		if f.typ == protowire.BytesType {
			n = varints(f.b)
		}
		if len(s)+n > kserve.MaxDims {
			if d.tooMany == nil {
				d.tooMany = invalid("a tensor of the message has %d or more dimensions, at most %d are possible", len(s)+n, kserve.MaxDims)
			}
			return s, nil
		}
		s = slices.Grow(s, n)
	}
	if f.typ == protowire.VarintType {
		return append(s, int64(f.v)), nil
	}
	for b := f.b; len(b) > 0; {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return s, errMalformed
		}
		s = append(s, int64(v))
		b = b[n:]
	}
	return s, nil
}

// varints counts packed varints.
func varints(b []byte) int {
	n := 0
	for _, c := range b {
		n += int(c>>7) ^ 1
	}
	return n
}
