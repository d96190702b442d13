package model

import (
	"encoding/binary"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/infer"
)

// elements checks that a BYTES input has exactly want elements. Elements and their lengths
// may cross the segments of the transport.
func (k *checker) elements(r *infer.Request, v *backend.Value, t *kserve.Tensor, want int64) error {
	name := nameInErrors(r, v)
	w := bytesWalker{data: &t.Data}
	n := int64(0)
	for w.left() > 0 {
		if w.left() < 4 {
			return invalidRequest(r, "incomplete string length indicator for inference input '%s' for model '%s', expecting 4 bytes but only %d bytes available. Please make sure the string length indicator is in one buffer.",
				name, k.model, w.left())
		}
		n++
		if n > want {
			return invalidRequest(r, "unexpected number of string elements %d for inference input '%s' for model '%s', expecting %d",
				n, name, k.model, want)
		}
		size := int64(w.length())
		if left := w.left(); size > left {
			if n < want {
				break
			}
			return status.New(status.InvalidArg, "incomplete string data for inference input '%s', expecting string of length %d but only %d bytes available",
				name, size, left)
		}
		w.skip(size)
	}
	if n < want {
		return invalidRequest(r, "expected %d string elements for inference input '%s' for model '%s', got %d", want, name, k.model, n)
	}
	return nil
}

// bytesWalker reads a tensor's bytes across segments.
type bytesWalker struct {
	data *tensor.Data
	seg  []byte // rest of the current segment
	next int    // the segment after it
	read int64
}

func (w *bytesWalker) left() int64 { return int64(w.data.Len()) - w.read }

// fill makes seg non-empty. The caller has checked that bytes are left.
func (w *bytesWalker) fill() {
	for len(w.seg) == 0 {
		w.seg = w.data.Segment(w.next).Bytes()
		w.next++
	}
}

func (w *bytesWalker) length() uint32 {
	w.fill()
	if len(w.seg) >= 4 {
		n := binary.LittleEndian.Uint32(w.seg)
		w.seg = w.seg[4:]
		w.read += 4
		return n
	}
	var word [4]byte
	for i := range word {
		w.fill()
		word[i], w.seg = w.seg[0], w.seg[1:]
	}
	w.read += 4
	return binary.LittleEndian.Uint32(word[:])
}

func (w *bytesWalker) skip(n int64) {
	w.read += n
	for n > 0 {
		w.fill()
		k := min(n, int64(len(w.seg)))
		w.seg = w.seg[k:]
		n -= k
	}
}
