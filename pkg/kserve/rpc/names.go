package rpc

import (
	"hash/maphash"
	"sync/atomic"
	"unicode/utf8"
)

const (
	nameSlots   = 512 // a power of two
	nameMaxSize = 64
)

// names keeps the strings that most requests repeat (models, tensors, parameters), so that
// reading them does not allocate. It is a direct-mapped cache, so its size is bounded and
// it needs no lock.
type names struct {
	seed  maphash.Seed
	slots [nameSlots]atomic.Pointer[string]
}

func (t *names) init() { t.seed = maphash.MakeSeed() }

// get returns b as a string. It reports false if b is not valid UTF-8, which protobuf
// requires of strings.
func (t *names) get(b []byte) (string, bool) {
	if len(b) == 0 {
		return "", true
	}
	if len(b) > nameMaxSize {
		return string(b), utf8.Valid(b)
	}
	slot := &t.slots[maphash.Bytes(t.seed, b)&(nameSlots-1)]
	if s := slot.Load(); s != nil && *s == string(b) {
		return *s, true
	}
	if !utf8.Valid(b) {
		return "", false
	}
	s := string(b)
	slot.Store(&s)
	return s, true
}
