package cache

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// storedMagic begins a stored response: the form of a response in caches outside of this process's
// own memory, in Redis and in cache libraries. It is, in little-endian order:
//
//	magic "TRC1", which includes the version of the format
//	uint32 n, n parameters: name, uint8 kind, uint64 or text
//	uint32 n, n outputs: name, uint8 data type, uint32 rank, rank int64, uint64 size, data
//	uint32 CRC-32C of all bytes before it
//
// Names and texts are a uint32 and that many bytes. A value of another version
// is a miss.
const storedMagic = "TRC1"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// StoredSize returns the size in bytes of an encoded response.
func StoredSize(resp *infer.Response) int {
	n := len(storedMagic) + 4 + 4 + 4
	for i := range resp.Parameters {
		p := &resp.Parameters[i]
		n += 4 + len(p.Name) + 1 + 8
		if p.Kind == kserve.ParamString {
			n += len(p.String) - 4
		}
	}
	for i := range resp.Outputs {
		o := &resp.Outputs[i]
		n += 4 + len(o.Name) + 1 + 4 + 8*len(o.Shape) + 8 + o.Data.Len()
	}
	return n
}

// AppendStored appends an encoded response, StoredSize bytes.
func AppendStored(b []byte, resp *infer.Response) []byte {
	le := binary.LittleEndian
	begin := len(b)
	b = append(b, storedMagic...)
	b = le.AppendUint32(b, uint32(len(resp.Parameters)))
	for i := range resp.Parameters {
		b = appendParameter(b, &resp.Parameters[i])
	}
	b = le.AppendUint32(b, uint32(len(resp.Outputs)))
	for i := range resp.Outputs {
		o := &resp.Outputs[i]
		b = append(appendText(b, o.Name), byte(o.DataType))
		b = le.AppendUint32(b, uint32(len(o.Shape)))
		for _, d := range o.Shape {
			b = le.AppendUint64(b, uint64(d))
		}
		b = le.AppendUint64(b, uint64(o.Data.Len()))
		for s := range o.Data.Segments() {
			b = append(b, o.Data.Segment(s).Bytes()...)
		}
	}
	return le.AppendUint32(b, crc32.Checksum(b[begin:], castagnoli))
}

func appendText(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...)
}

func appendParameter(b []byte, p *kserve.Parameter) []byte {
	b = append(appendText(b, p.Name), byte(p.Kind))
	n := uint64(0)
	switch p.Kind {
	case kserve.ParamString:
		return appendText(b, p.String)
	case kserve.ParamBool:
		if p.Bool {
			n = 1
		}
	case kserve.ParamInt:
		n = uint64(p.Int)
	case kserve.ParamUint:
		n = p.Uint
	case kserve.ParamDouble:
		n = math.Float64bits(p.Double)
	}
	return binary.LittleEndian.AppendUint64(b, n)
}

// errStoredFormat is the error for a value that is damaged or has another format version.
var errStoredFormat = errors.New("the value is not a response of this version")

// DecodeStored fills an empty response with views of a value, which must not change afterwards.
// After an error the response is partly filled.
func DecodeStored(value *tensor.Buffer, into *infer.Response) error {
	le := binary.LittleEndian
	b := value.Bytes()
	end := len(b) - 4
	if end < len(storedMagic) || string(b[:len(storedMagic)]) != storedMagic || crc32.Checksum(b[:end], castagnoli) != le.Uint32(b[end:]) {
		return errStoredFormat
	}
	r := storedReader{b: b[:end], at: len(storedMagic)}
	for n := r.count(); n > 0 && !r.bad; n-- {
		into.Parameters = append(into.Parameters, r.parameter())
	}
	for n := r.count(); n > 0 && !r.bad; n-- {
		r.output(value, into.AddOutput())
	}
	if r.bad || r.at != end {
		return errStoredFormat
	}
	return nil
}
