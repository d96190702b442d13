//go:build cgo && linux

package plugin

// #include <stdlib.h>
// #include "host.h"
import "C"

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"triton/pkg/inferencepb"
	"triton/server/backend"
	"triton/server/hostpolicy"
	"triton/server/infer"
)

// instance is one instance of a model.
type instance struct {
	model *model
	c     *C.TRITONBACKEND_ModelInstance
	h     handle

	thread *hostpolicy.Thread // nil: the caller's
	owned  bool               // thread is of this instance

	// Of the execution that runs.
	requests []*C.TRITONBACKEND_Request // in C
	slots    []*slot
	call     func() // runs execute with requests
	failure  *C.TRITONSERVER_Error

	expected atomic.Int64 // bytes of outputs of a request
	texts    texts        // of response parameters

	mu     sync.Mutex
	kept   map[*slot]struct{} // requests that outlast their execution
	memory []backend.Memory

	ready readiness
}

var (
	_ backend.Instance       = (*instance)(nil)
	_ backend.MemoryReporter = (*instance)(nil)
)

// newInstance makes an instance and lets the backend initialize it.
func newInstance(m *model, at backend.Placement) (*instance, error) {
	in := &instance{model: m, kept: map[*slot]struct{}{}}
	policy, err := hostPolicy(at.HostPolicy)
	if err != nil {
		return nil, err
	}
	if in.thread, in.owned, err = m.threads.assign(at); err != nil {
		return nil, err
	}
	c := allocate[C.TRITONBACKEND_ModelInstance]()
	in.c = c
	if c.host_policy, err = message(policy); err != nil {
		if in.owned {
			in.thread.Close()
		}
		C.free(unsafe.Pointer(c))
		return nil, err
	}
	in.h = instances.add(in)
	c.kind, c.handle, c.model = C.TRT_INSTANCE, C.uint64_t(in.h), m.c
	c.name = C.CString(at.Name)
	c.device_kind, c.device = kindToC(at.Kind), C.int32_t(at.Device)
	c.passive = C.bool(at.Group.GetPassive())
	c.profiles = names(at.Group.GetProfile())
	in.setSecondary(at.Group)
	in.call = func() {
		in.failure = C.trt_execute(m.lib.execute, in.c, unsafe.SliceData(in.requests), C.uint32_t(len(in.slots)))
	}
	if m.lib.instanceInitialize != nil {
		if err := take(C.trt_call_instance(m.lib.instanceInitialize, c)); err != nil {
			if end := in.Close(); end != nil {
				m.spec.Log.Error(end.Error(), "instance", at.Name)
			}
			return nil, err
		}
	}
	return in, nil
}

func (in *instance) setSecondary(g *inferencepb.ModelInstanceGroup) {
	all := g.GetSecondaryDevices()
	if len(all) == 0 {
		return
	}
	var kinds []string
	ids := (*C.int64_t)(C.calloc(C.size_t(len(all)), C.size_t(unsafe.Sizeof(C.int64_t(0)))))
	for i, d := range all {
		kinds = append(kinds, d.GetKind().String())
		unsafe.Slice(ids, len(all))[i] = C.int64_t(d.GetDeviceId())
	}
	in.c.secondary, in.c.secondary_ids = names(kinds), ids
}

// hostPolicy returns the message about the host policy: one member, named like the policy,
// with its settings.
func hostPolicy(p hostpolicy.Policy) ([]byte, error) {
	settings := p.Settings
	if settings == nil {
		settings = map[string]string{}
	}
	return json.Marshal(map[string]map[string]string{p.Name: settings})
}

// Execute runs a batch.
func (in *instance) Execute(_ context.Context, b *infer.Batch) error {
	if err := in.prepare(b); err != nil {
		return err
	}
	begin := infer.Now()
	if in.thread != nil {
		in.thread.Do(in.call)
	} else {
		in.call()
	}
	err := take(in.failure) // of the call; take clears it
	in.setTimes(b, begin)
	return in.settle(b, err)
}

// prepare fills the requests of a batch, in C memory that grows with the largest batch, and marks those of a
// decoupled model as kept.
func (in *instance) prepare(b *infer.Batch) error {
	n := len(b.Requests)
	if n > len(in.requests) {
		C.free(unsafe.Pointer(unsafe.SliceData(in.requests)))
		p := C.calloc(C.size_t(n), C.size_t(unsafe.Sizeof(uintptr(0))))
		in.requests = unsafe.Slice((**C.TRITONBACKEND_Request)(p), n)
	}
	in.c.times = C.trt_times{}
	in.slots = in.slots[:0]
	for i, r := range b.Requests {
		s := takeSlot()
		in.slots = append(in.slots, s)
		in.requests[i] = s.c
		if err := in.fill(s, r); err != nil {
			in.withdraw()
			return err
		}
	}
	if in.model.decoupled {
		for _, s := range in.slots {
			if !s.r.Membership.Null {
				s.r.Keep()
				in.keep(s)
			}
		}
	}
	return nil
}

// setTimes takes what the backend has reported about the batch.
func (in *instance) setTimes(b *infer.Batch, begin int64) {
	t := &in.c.times
	if b.Unreported = t.reports == 0; b.Unreported {
		return
	}
	end := infer.Now()
	b.InputEnd = min(max(toNow(t.compute_begin), begin), end)
	b.OutputStart = min(max(toNow(t.compute_end), b.InputEnd), end)
}

// keep marks a request as one that outlasts its execution.
func (in *instance) keep(s *slot) {
	s.kept = true
	in.mu.Lock()
	in.kept[s] = struct{}{}
	in.mu.Unlock()
}

func (in *instance) forget(s *slot) {
	if s.kept {
		in.mu.Lock()
		delete(in.kept, s)
		in.mu.Unlock()
	}
}

// Memory returns what the backend has reported.
func (in *instance) Memory() []backend.Memory {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.memory
}

// Close ends the instance. The server has answered what the backend still keeps.
func (in *instance) Close() error {
	in.mu.Lock()
	left := make([]*slot, 0, len(in.kept))
	for s := range in.kept {
		left = append(left, s)
	}
	in.mu.Unlock()
	for _, s := range left {
		s.abandon(in)
	}
	if !in.ready.close() {
		return in.leave()
	}
	var err error
	if f := in.model.lib.instanceFinalize; f != nil {
		err = take(C.trt_call_instance(f, in.c))
	}
	if in.owned {
		in.thread.Close()
	}
	in.free()
	if err != nil {
		return fmt.Errorf("failed finalizing instance: %w", err)
	}
	return nil
}

// free frees the memory of the instance. Its struct stays while the backend may still use a
// factory, whose responses ask it for the model.
func (in *instance) free() {
	instances.remove(in.h)
	c := in.c
	c.kind = C.TRT_FREED
	C.free(unsafe.Pointer(unsafe.SliceData(in.requests)))
	C.free(unsafe.Pointer(c.secondary_ids))
	C.trt_names_clear(&c.profiles)
	C.trt_names_clear(&c.secondary)
	C.TRITONSERVER_MessageDelete(c.host_policy)
	C.free(unsafe.Pointer(c.name))
	in.model.retire(c)
}
