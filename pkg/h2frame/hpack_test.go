package h2frame_test

import (
	"bytes"
	"testing"

	"golang.org/x/net/http2/hpack"

	"triton/pkg/h2frame"
)

// FuzzScan compares Scan with a decoder: a block that refers to the table means the same again, and one that does not
// change the table leaves the meaning of references as it was.
func FuzzScan(f *testing.F) {
	f.Add([]byte{0x83, 0x86, 0xbe})
	f.Add([]byte{0x40, 1, 'a', 1, 'b', 0xbe})
	f.Add([]byte{0x20, 0x3f, 0xe1, 0x1f})
	f.Add([]byte{0x0f, 0x2f, 1, 'x', 0x10, 1, 'a', 0})
	probe := []byte{0xbe, 0xbf}
	f.Fuzz(func(t *testing.T, block []byte) {
		var fields []hpack.HeaderField
		d := hpack.NewDecoder(h2frame.InitialTable, func(h hpack.HeaderField) { fields = append(fields, h) })
		decode := func(b []byte) ([]hpack.HeaderField, bool) {
			fields = nil
			_, err := d.Write(b)
			if e := d.Close(); err == nil {
				err = e
			}
			return fields, err == nil
		}
		decode([]byte{0x40, 1, 'x', 1, 'y', 0x40, 1, 'v', 1, 'w'})
		before, _ := decode(probe)
		refers, changes := h2frame.Scan(bytes.Clone(block))
		one, ok := decode(block)
		if !ok {
			return
		}
		two, _ := decode(block)
		if refers && !equal(one, two) {
			t.Errorf("%x refers to the table, and means %v and then %v", block, one, two)
		}
		if after, _ := decode(probe); !changes && !equal(before, after) {
			t.Errorf("%x changes the table", block)
		}
		if refers && changes {
			t.Errorf("%x refers and changes", block)
		}
	})
}

func equal(a, b []hpack.HeaderField) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
