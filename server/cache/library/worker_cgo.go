//go:build cgo && linux

package library

// #include <stdlib.h>
// #include "host.h"
import "C"

import (
	"context"
	"encoding/hex"
	"runtime/cgo"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"triton/pkg/log"
	"triton/pkg/tensor"
	"triton/server/cache"
)

// job is one call of the library. The goroutine that wants it waits no longer than the timeout; then
// the worker owns the job.
//
//	from     event                     to
//	pending  the library has answered  answered: the caller releases the job
//	pending  timeout, or context ends  abandoned: the worker releases it
type job struct {
	key    cache.Key
	insert bool
	value  *tensor.Buffer // to insert, or found; nil: not found
	err    error

	state atomic.Int32
	done  chan struct{} // has an element when the job is answered
	timer *time.Timer
}

const (
	pending int32 = iota
	answered
	abandoned
)

var jobs = sync.Pool{New: func() any {
	j := &job{done: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
	j.timer.Stop()
	return j
}}

func newJob(k cache.Key) *job {
	j := jobs.Get().(*job)
	j.key = k
	return j
}

func (j *job) release() {
	if j.value != nil {
		j.value.Release()
	}
	j.insert, j.value, j.err = false, nil, nil
	j.state.Store(pending)
	jobs.Put(j)
}

// do lets a worker do a job and waits for it. It returns false if the job was not answered; then the
// caller does not have it any more.
func (c *Cache) do(ctx context.Context, j *job, call string) bool {
	if err := c.assign(j); err != nil {
		c.breaker.Report(call, err)
		j.release()
		return false
	}
	j.timer.Reset(c.opts.Timeout)
	var slow bool
	select {
	case <-j.done:
		j.timer.Stop()
		c.breaker.Succeed()
		return true
	case <-j.timer.C:
		slow = true
	case <-ctx.Done():
		j.timer.Stop()
	}
	if !j.state.CompareAndSwap(pending, abandoned) {
		<-j.done
		return true
	}
	if slow {
		c.breaker.Fail(call, errSlow)
	}
	return false
}

// assign gives a job to a worker that waits, or to a new one.
func (c *Cache) assign(j *job) error {
	select {
	case c.jobs <- j:
		return nil
	default:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return errGone
	case len(c.workers) == maxWorkers:
		return errBusy
	}
	w := &worker{cache: c}
	w.handle = cgo.NewHandle(w)
	if w.calls[0] = C.trt_cache_call_new(C.uintptr_t(w.handle)); w.calls[0] == nil {
		w.handle.Delete()
		return errBusy
	}
	c.workers = append(c.workers, w)
	c.running.Go(func() { w.run(j) })
	return nil
}

// worker calls the library, one job at a time.
type worker struct {
	cache  *Cache
	handle cgo.Handle
	calls  [callsKept]*C.struct_trt_cache_call // all but the first made when they are needed
	next   int                                 // which is used next
	found  *tensor.Buffer                      // set by the callback of a lookup
}

// callsKept is how many calls a worker makes before it uses the structs of one again: a library that
// uses them after its call finds that they have ended, and not those of another call.
const callsKept = 16

// call returns the structs of the next call.
func (w *worker) call() *C.struct_trt_cache_call {
	at := &w.calls[w.next]
	if *at == nil {
		*at = C.trt_cache_call_new(C.uintptr_t(w.handle))
	}
	if *at == nil { // no memory
		at = &w.calls[0]
	}
	w.next = (w.next + 1) % callsKept
	return *at
}

func (w *worker) run(j *job) {
	for {
		w.do(j)
		if j.state.CompareAndSwap(pending, answered) {
			j.done <- struct{}{}
		} else {
			j.release()
		}
		select {
		case j = <-w.cache.jobs:
		case <-w.cache.stop:
			return
		}
	}
}

func (w *worker) do(j *job) {
	call := w.call()
	key := unsafe.Slice((*byte)(unsafe.Pointer(C.trt_cache_call_key(call))), C.TRT_CACHE_KEY)
	hex.Encode(key, j.key[:])
	var code C.int
	var message *C.char
	if j.insert {
		value := j.value.Bytes()
		result := C.trt_cache_insert(w.cache.native, call, unsafe.Pointer(unsafe.SliceData(value)), C.size_t(len(value)), &code, &message)
		if j.err = failure(result, code, message); result == C.TRT_CACHE_EXISTS {
			j.err = cache.ErrExists
		}
		return
	}
	result := C.trt_cache_lookup(w.cache.native, call, &code, &message)
	j.err = failure(result, code, message)
	if result == C.TRT_CACHE_UNCOPIED {
		j.err = errBare
	}
	if j.value, w.found = w.found, nil; result != C.TRT_CACHE_OK && j.value != nil { // copied, and failed after that
		j.value.Release()
		j.value = nil
	}
}

// trtCacheMemory returns memory for the value that a lookup has found; nil if there is none.
//
//export trtCacheMemory
func trtCacheMemory(owner C.uintptr_t, size C.size_t) (memory unsafe.Pointer) {
	var w *worker
	defer func() {
		if p := recover(); p != nil {
			memory = nil
			if w != nil {
				log.Panicked(w.cache.opts.Log, "panic while a cache library copied a response", p)
			}
		}
	}()
	w = cgo.Handle(owner).Value().(*worker)
	if size == 0 || size > maxValue || w.found != nil {
		return nil
	}
	b, err := w.cache.opts.Pool.TryGet(int(size))
	if err != nil {
		return nil
	}
	w.found = b
	return unsafe.Pointer(unsafe.SliceData(b.Bytes()))
}

// maxValue bounds the size of a stored response: a larger number is a mistake of the library.
const maxValue = 1 << 40
