//go:build cgo && linux

package plugin

import "C"

import (
	"sync"
	"unsafe"
)

// texts keeps short strings that a backend sends again and again, such as the names of
// parameters, so that they are not allocated for each response.
type texts struct {
	mu  sync.Mutex
	all map[string]string
}

const (
	maxTexts   = 64
	maxTextLen = 64
)

func (t *texts) of(c *C.char) string {
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(c), n)) != 0 && n <= maxTextLen {
		n++
	}
	if n > maxTextLen {
		return C.GoString(c)
	}
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(c)), n)
	t.mu.Lock()
	defer t.mu.Unlock()
	if s, ok := t.all[string(bytes)]; ok {
		return s
	}
	s := string(bytes)
	if t.all == nil {
		t.all = map[string]string{}
	}
	if len(t.all) < maxTexts {
		t.all[s] = s
	}
	return s
}
