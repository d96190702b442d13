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

// names keeps the strings that come again with every request (models, tensors,
// parameters), so that reading them does not allocate. It is a direct-mapped
// cache: of bounded size whatever the clients send, and without a lock.
type names struct {
	seed  maphash.Seed
	slots [nameSlots]atomic.Pointer[string]
}

func (t *names) init() { t.seed = maphash.MakeSeed() }

// get is the string of b; false when it is not valid UTF-8, which protobuf
// forbids in strings.
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
