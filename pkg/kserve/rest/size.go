package rest

import (
	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

// shortText is the size in bytes up to which outputs are not counted as text: it is too small to matter.
const shortText = 16 << 10

// TextSize returns an upper bound, in bytes, for the memory that EncodeResponse takes for the text
// of the outputs, while it grows. It is 0 for a short text.
func TextSize(resp *kserve.Response, req *kserve.Request) int {
	all := 0
	for i := range resp.Outputs {
		all += resp.Outputs[i].Data.Len()
	}
	if all <= shortText {
		return 0
	}
	n := 0
	for i := range resp.Outputs {
		t := &resp.Outputs[i]
		binary, topK := req.BinaryOutput, 0
		if len(req.Outputs) > 0 {
			binary = false
		}
		for k := range req.Outputs {
			if o := &req.Outputs[k]; o.Name == t.Name {
				binary, topK = o.Binary || o.Placed, int(min(o.Classification, 1<<30))
				break
			}
		}
		switch {
		case topK > 0:
			n += t.ClassesSize(topK)
		case !binary:
			n += elementsSize(t)
		}
	}
	return n
}

// elementsSize is TextSize for one tensor.
func elementsSize(t *kserve.Tensor) int {
	n := t.Data.Len()
	text := 0
	if t.DataType == tensor.Bytes {
		text = n + escapes(&t.Data)
	} else if size := t.DataType.Size(); size > 0 {
		text = n / size * longest(t.DataType)
	}
	text *= 2 // while the text grows there is an old and a new one
	if t.Data.Segments() > 1 {
		text += n // it is copied into one piece
	}
	return text
}

// longest returns the bytes of the longest text of an element, with its comma.
func longest(d tensor.DataType) int {
	switch d {
	case tensor.Uint8:
		return len("255,")
	case tensor.Int8:
		return len("-128,")
	case tensor.Bool, tensor.Uint16:
		return len("65535,")
	case tensor.Int16:
		return len("-32768,")
	case tensor.Uint32, tensor.Int32:
		return len("-2147483648,")
	case tensor.Uint64, tensor.Int64:
		return len("-9223372036854775808,")
	}
	return len("-1.7976931348623157e+308,")
}

// escapes returns how many bytes the escapes of strings add, at most.
func escapes(d *tensor.Data) int {
	const control, short = len(`\u0000`) - 1, len(`\"`) - 1
	n := 0
	for i := range d.Segments() {
		for _, c := range d.Segment(i).Bytes() {
			switch {
			case c < ' ':
				n += control
			case c == '"' || c == '\\' || c == '/':
				n += short
			}
		}
	}
	return n
}
