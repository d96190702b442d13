//go:build cgo && linux

package inprocess

/*
#cgo CFLAGS: -I${SRCDIR}/../include -fvisibility=hidden
#cgo LDFLAGS: -Wl,--unresolved-symbols=ignore-in-object-files
#include "objects.h"
*/
import "C"

import (
	"context"
	"runtime/cgo"
	"strconv"
	"sync/atomic"
	"unsafe"

	"triton/pkg/status"
	"triton/server/capi"
	"triton/server/infer"
)

// Server is what a TRITONSERVER_Server refers to.
type Server struct {
	opts   Options
	handle *C.TRITONSERVER_Server
}

// New returns a server for C code. Its functions may be called until Close.
func New(o Options) *Server {
	s := &Server{opts: o, handle: (*C.TRITONSERVER_Server)(C.calloc(1, C.sizeof_struct_TRITONSERVER_Server))}
	s.handle.handle = C.uintptr_t(cgo.NewHandle(s))
	return s
}

// Handle returns the TRITONSERVER_Server.
func (s *Server) Handle() unsafe.Pointer { return unsafe.Pointer(s.handle) }

// Close frees the TRITONSERVER_Server, which C code must no longer use. It does not stop what the
// server acts on.
func (s *Server) Close() {
	cgo.Handle(s.handle.handle).Delete()
	C.free(unsafe.Pointer(s.handle))
	s.handle = nil
}

// starter starts the servers of TRITONSERVER_ServerNew, whose arguments do not say what can start one.
var starter atomic.Pointer[Starter]

// Provide lets programs start servers.
func Provide(s Starter) { starter.Store(&s) }

// serverOf returns the server of a handle.
func serverOf(handle C.uintptr_t) *Server { return cgo.Handle(handle).Value().(*Server) }

// call runs a function for C. A panic becomes its error.
func call(f func() error) *C.TRITONSERVER_Error {
	err := func() (err error) {
		defer capi.Recover(&err)
		return f()
	}()
	return (*C.TRITONSERVER_Error)(capi.NewError(err))
}

// unsupported is the error of a function that this server does not have.
func unsupported(what string) error {
	return status.New(status.Unsupported, "%s is not available to backends, only to the program that started the server", what)
}

// versionText returns the version of a request: empty when the server chooses.
func versionText(version C.int64_t) string {
	if version < 0 {
		return ""
	}
	return strconv.FormatInt(int64(version), 10)
}

// find returns a ready model with a reference.
func (s *Server) find(name, version string) (infer.Model, error) {
	switch {
	case s.opts.Service != nil:
		return infer.Acquire(context.Background(), s.opts.Service, name, version)
	case s.opts.Models != nil:
		return s.opts.Models.Acquire(name, version)
	}
	return nil, status.New(status.Unsupported, "a model in a process of its own (isolation=process) cannot call other models")
}

// describe describes a model, which need not be loaded if requests load it.
func (s *Server) describe(name *C.char, version C.int64_t) (infer.Description, error) {
	if s.opts.Service == nil {
		return s.find(C.GoString(name), versionText(version))
	}
	return infer.Describe(context.Background(), s.opts.Service, C.GoString(name), versionText(version))
}

//export capiFindModel
func capiFindModel(server C.uintptr_t, name *C.char, version C.int64_t, mostPriority, defaultPriority *C.uint64_t) *C.TRITONSERVER_Error {
	return call(func() error {
		m, err := serverOf(server).find(C.GoString(name), versionText(version))
		if err != nil {
			return err
		}
		defer m.Release()
		batching := m.Config().GetDynamicBatching()
		*mostPriority, *defaultPriority = C.uint64_t(batching.GetPriorityLevels()), C.uint64_t(batching.GetDefaultPriorityLevel())
		return nil
	})
}

//export capiModelIsReady
func capiModelIsReady(server C.uintptr_t, name *C.char, version C.int64_t, ready *C.bool) *C.TRITONSERVER_Error {
	return call(func() error {
		s, model, number := serverOf(server), C.GoString(name), versionText(version)
		var isReady func(name, version string) (bool, error)
		switch {
		case s.opts.Service != nil:
			isReady = s.opts.Service.ModelReady
		case s.opts.Control != nil:
			isReady = s.opts.Control.ModelReady
		default:
			isReady = func(name, version string) (bool, error) {
				m, err := s.find(name, version)
				if err == nil {
					m.Release()
				}
				return err == nil, err
			}
		}
		ok, err := isReady(model, number)
		*ready = C.bool(ok)
		return err
	})
}

//export capiProperties
func capiProperties(server C.uintptr_t, name *C.char, version C.int64_t, batches, decoupled *C.bool) *C.TRITONSERVER_Error {
	return call(func() error {
		m, err := serverOf(server).describe(name, version)
		if err != nil {
			return err
		}
		defer m.Release()
		*batches = C.bool(m.Config().GetMaxBatchSize() > 0)
		*decoupled = C.bool(m.Config().Decoupled())
		return nil
	})
}
