//go:build cgo && linux

package plugin

// #include <stdlib.h>
// #include "host.h"
import "C"

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"triton/pkg/tensor"
	"triton/server/capi/inprocess"
	"triton/server/infer"
)

const (
	// blockSize is the size of the C memory that each slot has.
	blockSize = 4096
	// minIdle is how many slots stay idle before one is used again, so that a backend that
	// uses a released request finds it freed, not another one.
	minIdle = 32
)

// slot is the place of one request in the hands of a backend. Slots are reused and never
// freed, so that C may ask about a request that has ended.
//
// The backend has the request from the execution to the release, and may send responses from
// then on, until refs of the C struct is 0: the request, the execution, each factory and
// each response hold one reference.
type slot struct {
	c      *C.TRITONBACKEND_Request
	used   uintptr          // bytes of the block
	chunks []unsafe.Pointer // further blocks
	next   *slot            // in the list of idle slots

	mu       sync.Mutex
	in       *instance
	r        *infer.Request // nil when the backend has ended it
	kept     bool           // past the execution
	released bool
	final    bool // the final response was sent
	again    bool // rescheduled
	begun    bool // a response was sent
	// The responses that the backend has sent, and those that it has reported.
	responses, reports int
	gone               bool // what Cancelled reports when r is nil
	sending            int  // responses that other threads are sending
	sendingTo          *infer.Request

	out      *tensor.Buffer   // for outputs; C.memory is in it
	given    []tensor.Segment // memory of outputs and states, by slot number - 1
	outBytes int              // of all outputs
	inputs   []tensor.Data    // of a null request
	pins     runtime.Pinner
	shape    tensor.Shape
}

// slots are all slots of the process.
var slots struct {
	sync.Mutex
	first, last *slot // idle ones; the first one has been idle for longest
	idle        int
	all         atomic.Pointer[[]*slot]
}

// takeSlot returns an idle slot.
func takeSlot() *slot {
	slots.Lock()
	defer slots.Unlock()
	if slots.idle > minIdle {
		s := slots.first
		slots.first, s.next = s.next, nil
		slots.idle--
		return s
	}
	var all []*slot
	if p := slots.all.Load(); p != nil {
		all = *p
	}
	s := &slot{c: (*C.TRITONBACKEND_Request)(C.calloc(1, blockSize))}
	s.c.handle = C.uint32_t(len(all))
	all = append(all, s) // readers see the old length
	slots.all.Store(&all)
	return s
}

// slotOf returns the slot of a request of a backend.
func slotOf(c *C.TRITONBACKEND_Request) *slot { return (*slots.all.Load())[c.handle] }

// alloc returns memory of C that lives as long as the request.
func (s *slot) alloc(n uintptr) unsafe.Pointer {
	n = (n + 15) &^ 15
	if n <= blockSize-s.used {
		p := unsafe.Add(unsafe.Pointer(s.c), s.used)
		s.used += n
		return p
	}
	p := C.malloc(C.size_t(n))
	s.chunks = append(s.chunks, p)
	return p
}

func list[T any](s *slot, n int) []T {
	if n == 0 {
		return nil
	}
	var t T
	return unsafe.Slice((*T)(s.alloc(uintptr(n)*unsafe.Sizeof(t))), n)
}

var emptyText = C.CString("")

// text copies a string.
func (s *slot) text(v string) *C.char {
	if v == "" {
		return emptyText
	}
	b := list[byte](s, len(v)+1)
	copy(b, v)
	b[len(v)] = 0
	return (*C.char)(unsafe.Pointer(unsafe.SliceData(b)))
}

// unref releases a reference of the server.
func (s *slot) unref() {
	if atomic.AddInt32((*int32)(unsafe.Pointer(&s.c.refs)), -1) == 0 {
		s.unused()
	}
}

func (s *slot) references() int32 { return atomic.LoadInt32((*int32)(unsafe.Pointer(&s.c.refs))) }

// recycle makes the slot idle. Nothing refers to the request any more.
func (s *slot) recycle() {
	in := s.in
	s.c.kind = C.TRT_FREED
	for i := range unsafe.Slice(s.c.inputs, s.c.input_count) {
		unsafe.Slice(s.c.inputs, s.c.input_count)[i].kind = C.TRT_FREED
	}
	if s.c.attributed || s.c.states != nil {
		C.trt_request_clear(s.c)
	}
	if s.c.trace != nil {
		inprocess.FreeTrace(unsafe.Pointer(s.c.trace))
		s.c.trace = nil
	}
	for _, p := range s.chunks {
		C.free(p)
	}
	s.chunks = s.chunks[:0]
	for i := range s.given {
		if s.given[i].Buffer != nil {
			s.given[i].Buffer.Release()
		}
	}
	clear(s.given)
	s.given = s.given[:0]
	if s.out != nil {
		s.out.Release()
		s.out = nil
	}
	for i := range s.inputs {
		s.inputs[i].Release()
	}
	s.inputs = s.inputs[:0]
	s.pins.Unpin()
	s.in = nil
	in.forget(s)
	slots.Lock()
	if slots.idle == 0 {
		slots.first = s
	} else {
		slots.last.next = s
	}
	slots.last = s
	slots.idle++
	slots.Unlock()
	in.model.ended()
}
