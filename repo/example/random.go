package example

import (
	"encoding/binary"
	"io"
	"math"
	"math/rand/v2"
)

const chunk = 8 << 10 // elements made at a time

// uniform writes n random floats between -bound and bound. They are made from
// integers with one multiplication, so that every processor rounds alike.
func uniform(seed, stream uint64, n int64, bound float64) func(io.Writer) error {
	return func(w io.Writer) error {
		source := rand.NewPCG(seed, stream)
		scale := float32(bound / (1 << 31))
		return floats(w, n, func(b []byte) []byte {
			bits := source.Uint64()
			b = appendFloat(b, float32(int32(bits))*scale)
			return appendFloat(b, float32(int32(bits>>32))*scale)
		})
	}
}

// repeated writes n times v.
func repeated(n int64, v float32) func(io.Writer) error {
	return func(w io.Writer) error {
		return floats(w, n, func(b []byte) []byte { return appendFloat(appendFloat(b, v), v) })
	}
}

// floats writes n elements; pair appends two of them to a buffer.
func floats(w io.Writer, n int64, pair func([]byte) []byte) error {
	b := make([]byte, 0, 4*chunk)
	for n > 0 {
		b = b[:0]
		for len(b) < cap(b) && int64(len(b)) < 4*n {
			b = pair(b)
		}
		b = b[:min(int64(len(b)), 4*n)]
		if _, err := w.Write(b); err != nil {
			return err
		}
		n -= int64(len(b)) / 4
	}
	return nil
}

func appendFloat(b []byte, v float32) []byte {
	return binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
}
