package validation

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
func (k *Checker) elements(r *infer.Request, v *backend.Value, t *kserve.Tensor, want int64) error {
	name := displayName(r, v)
	w := walker{data: &t.Data}
	n := int64(0)
	for w.left() > 0 {
		if w.left() < 4 {
			return invalid(r, "incomplete string length indicator for inference input '%s' for model '%s', expecting 4 bytes but only %d bytes available. Please make sure the string length indicator is in one buffer.",
				name, k.model, w.left())
		}
		n++
		if n > want {
			return invalid(r, "unexpected number of string elements %d for inference input '%s' for model '%s', expecting %d",
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
		return invalid(r, "expected %d string elements for inference input '%s' for model '%s', got %d", want, name, k.model, n)
	}
	return nil
}

// walker reads a tensor's bytes across segments.
type walker struct {
	data *tensor.Data
	seg  []byte // rest of the current segment
	next int    // the segment after it
	read int64
}

func (w *walker) left() int64 { return int64(w.data.Len()) - w.read }

// fill makes seg non-empty. The caller has checked that bytes are left.
func (w *walker) fill() {
	for len(w.seg) == 0 {
		w.seg = w.data.Segment(w.next).Bytes()
		w.next++
	}
}

func (w *walker) length() uint32 {
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

func (w *walker) skip(n int64) {
	w.read += n
	for n > 0 {
		w.fill()
		k := min(n, int64(len(w.seg)))
		w.seg = w.seg[k:]
		n -= k
	}
}
