package offline

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"triton/pkg/tensor"
)

// header is the head of a .npy file, versions 1.0 to 3.0:
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
type header struct {
	kind    npyType
	dims    tensor.Shape
	fortran bool
	offset  int64 // of the elements
}

// npyType is the type of the elements.
type npyType struct {
	name string
	size int
	code byte // of the kind: b, i, u, f, S, U or V
	big  bool // big endian
}

const maxHeader = 1 << 20

var (
	npyDescr   = regexp.MustCompile(`['"]descr['"]\s*:\s*['"]([<>|=]?)([?a-zA-Z])([0-9]*)['"]`)
	npyFortran = regexp.MustCompile(`['"]fortran_order['"]\s*:\s*(True|False)`)
	npyShape   = regexp.MustCompile(`['"]shape['"]\s*:\s*\(([0-9, ]*)\)`)
)

func readHeader(r io.Reader) (h header, err error) {
	var start [10]byte
	if _, err := io.ReadFull(r, start[:]); err != nil || !bytes.HasPrefix(start[:], []byte("\x93NUMPY")) {
		return h, errors.New("it is no .npy file")
	}
	length := int64(binary.LittleEndian.Uint16(start[8:]))
	h.offset = 10
	if start[6] >= 2 { // the length has four bytes
		var more [2]byte
		if _, err := io.ReadFull(r, more[:]); err != nil {
			return h, errors.New("the header is cut off")
		}
		length |= int64(binary.LittleEndian.Uint16(more[:])) << 16
		h.offset = 12
	}
	if start[6] < 1 || start[6] > 3 {
		return h, fmt.Errorf("version %d of the .npy format is unknown", start[6])
	}
	if length > maxHeader {
		return h, fmt.Errorf("the header has %d bytes, more than %d", length, maxHeader)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return h, errors.New("the header is cut off")
	}
	h.offset += length
	return h, h.parse(string(text))
}

func (h *header) parse(text string) error {
	fortran := npyFortran.FindStringSubmatch(text)
	shape := npyShape.FindStringSubmatch(text)
	if fortran == nil || shape == nil {
		return fmt.Errorf("the header %.100q has no shape or no order", text)
	}
	h.fortran = fortran[1] == "True"
	descr := npyDescr.FindStringSubmatch(text)
	if descr == nil {
		return fmt.Errorf("the type in the header %.100q is not supported: use numbers, booleans or strings", text)
	}
	h.kind = npyType{name: descr[1] + descr[2] + descr[3], code: descr[2][0], big: descr[1] == ">", size: 1}
	if descr[3] != "" {
		size, err := strconv.Atoi(descr[3])
		if err != nil || size > maxLine {
			return fmt.Errorf("the type %s is too large", h.kind.name)
		}
		h.kind.size = size
	}
	switch h.kind.code {
	case '?':
		h.kind.code = 'b'
	case 'U': // characters of four bytes
		h.kind.size *= 4
	}
	if h.kind.size == 0 {
		return fmt.Errorf("elements of the type %s have no bytes", h.kind.name)
	}
	h.dims = tensor.Shape{}
	for part := range strings.SplitSeq(shape[1], ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		d, err := strconv.ParseInt(part, 10, 64)
		if err != nil || len(h.dims) > maxRank {
			return fmt.Errorf("the shape (%s) is too large", shape[1])
		}
		h.dims = append(h.dims, d)
	}
	return nil
}

// numPyNames are the types of NumPy without their byte order, and the name in Python.
var numPyNames = map[tensor.DataType]struct {
	codes []string
	name  string
}{
	tensor.Bool: {[]string{"b1"}, "bool"}, tensor.Uint8: {[]string{"u1"}, "uint8"}, tensor.Uint16: {[]string{"u2"}, "uint16"},
	tensor.Uint32: {[]string{"u4"}, "uint32"}, tensor.Uint64: {[]string{"u8"}, "uint64"}, tensor.Int8: {[]string{"i1"}, "int8"},
	tensor.Int16: {[]string{"i2"}, "int16"}, tensor.Int32: {[]string{"i4"}, "int32"}, tensor.Int64: {[]string{"i8"}, "int64"},
	tensor.FP16: {[]string{"f2"}, "float16"}, tensor.FP32: {[]string{"f4"}, "float32"}, tensor.FP64: {[]string{"f8"}, "float64"},
	tensor.BF16: {[]string{"V2", "u2"}, "ml_dtypes.bfloat16"}, // NumPy has no such type
}

// matches reports why elements of the type are none of the model's.
func (t npyType) matches(want tensor.DataType) error {
	if t.big && t.size > 1 && t.code != 'S' {
		return fmt.Errorf("the array of %s is big endian: save it with .astype(a.dtype.newbyteorder('<'))", t.name)
	}
	if want == tensor.Bytes {
		if t.code != 'S' && t.code != 'U' {
			return fmt.Errorf("the array has the type %s, the input is BYTES: save strings, with .astype('S')", t.name)
		}
		return nil
	}
	names := numPyNames[want]
	for _, code := range names.codes {
		if code == string(t.code)+strconv.Itoa(t.size) {
			return nil
		}
	}
	return fmt.Errorf("the array has the type %s, the input is %s: save it with .astype(%s)", t.name, want, names.name)
}

// decode returns the bytes of a tensor. Fixed-length strings lose the zeros at their ends, as
// NumPy itself reads them.
func (t npyType) decode(content []byte) []byte {
	if t.code != 'S' && t.code != 'U' {
		return content
	}
	into := make([]byte, 0, len(content)+4*len(content)/t.size)
	for ; len(content) > 0; content = content[t.size:] {
		element := content[:t.size]
		if t.code == 'U' {
			element = []byte(utf32(element))
		}
		into = tensor.AppendElement(into, bytes.TrimRight(element, "\x00"))
	}
	return into
}

func utf32(b []byte) string {
	var s strings.Builder
	for ; len(b) >= 4; b = b[4:] {
		s.WriteRune(rune(binary.LittleEndian.Uint32(b)))
	}
	return s.String()
}
