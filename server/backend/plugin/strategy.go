//go:build cgo && linux

package plugin

// #include <stdlib.h>
// #include "host.h"
import "C"

import (
	"unsafe"

	"triton/pkg/sharedlib"
	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/infer"
)

// Strategy is a library that decides which requests join a batch. It is used under the lock of
// one queue.
type Strategy struct {
	model   *model    // without a backend
	probe   *instance // of the requests that the library sees
	batcher *C.TRITONBACKEND_Batcher
	user    unsafe.Pointer // of the batch that is formed
	open    bool           // a batch is formed
	failing bool           // the last call failed

	newBatcher, freeBatcher, begin, include, end unsafe.Pointer
}

// OpenStrategy opens the library at a path for a model.
func OpenStrategy(path string, spec backend.Spec) (*Strategy, error) {
	file, err := sharedlib.Open(path)
	if err != nil {
		return nil, err
	}
	s := &Strategy{}
	found := 0
	for name, f := range map[string]*unsafe.Pointer{
		"TRITONBACKEND_ModelBatcherInitialize": &s.newBatcher, "TRITONBACKEND_ModelBatcherFinalize": &s.freeBatcher,
		"TRITONBACKEND_ModelBatchInitialize": &s.begin, "TRITONBACKEND_ModelBatchIncludeRequest": &s.include,
		"TRITONBACKEND_ModelBatchFinalize": &s.end,
	} {
		if *f = file.Symbol(name); *f != nil {
			found++
		}
	}
	if found < 5 {
		return nil, status.New(status.InvalidArg, "%s does not define all required custom batching functions for model %s", path, spec.Name)
	}
	b := allocate[C.TRITONBACKEND_Backend]()
	b.kind, b.name, b.location = C.TRT_BACKEND, C.CString(spec.Config.GetBackend()), C.CString(spec.Dir)
	if s.model, err = describe(&library{c: b}, spec); err != nil {
		freeBackend(b)
		return nil, err
	}
	if err = s.model.setSignature(spec.Config); err == nil {
		s.probe = &instance{model: s.model, c: allocate[C.TRITONBACKEND_ModelInstance](), kept: map[*slot]struct{}{}}
		s.probe.c.kind, s.probe.c.model, s.probe.c.name = C.TRT_INSTANCE, s.model.c, C.CString(spec.Name)
		err = take(C.trt_batcher_new(s.newBatcher, &s.batcher, s.model.c))
	}
	if err != nil {
		s.free()
		return nil, err
	}
	return s, nil
}

// Begin begins a batch. It ends the one before.
func (s *Strategy) Begin() {
	s.finish()
	s.open = s.check(take(C.trt_batch_begin(s.begin, s.batcher, &s.user)))
}

// Include reports whether a request joins the batch. After an error it does not.
func (s *Strategy) Include(r *infer.Request) bool {
	slot := takeSlot()
	defer func() { // a factory that the library has kept keeps the slot
		slot.c.kind = C.TRT_FREED
		if !slot.released {
			slot.unref()
		}
		slot.unref()
	}()
	err := s.probe.fill(slot, r)
	slot.c.call, slot.r, slot.gone = nil, nil, r.Cancelled() // the library may not answer it
	if err != nil {
		return s.check(err)
	}
	var yes C.bool
	return s.check(take(C.trt_batch_include(s.include, slot.c, s.user, &yes))) && bool(yes)
}

// finish ends the batch.
func (s *Strategy) finish() {
	if s.open {
		s.open = false
		s.check(take(C.trt_batch_end(s.end, s.user)))
		s.user = nil
	}
}

// check logs an error, once for all that follow each other, and reports whether there is none.
func (s *Strategy) check(err error) bool {
	if err != nil && !s.failing {
		s.model.spec.Log.Error("the custom batching functions failed", "model", s.model.spec.Name, "error", err)
	}
	s.failing = err != nil
	return err == nil
}

// Close ends the strategy of a model whose queue is closed.
func (s *Strategy) Close() {
	s.finish()
	s.check(take(C.trt_batcher_free(s.freeBatcher, s.batcher)))
	s.free()
}

func (s *Strategy) free() {
	if s.probe != nil {
		s.probe.c.kind = C.TRT_FREED
		C.free(unsafe.Pointer(s.probe.c.name))
		s.model.retire(s.probe.c)
	}
	b := s.model.lib.c
	s.model.free()
	freeBackend(b)
}

func freeBackend(b *C.TRITONBACKEND_Backend) {
	b.kind = C.TRT_FREED
	C.free(unsafe.Pointer(b.name))
	C.free(unsafe.Pointer(b.location))
	C.free(unsafe.Pointer(b))
}
