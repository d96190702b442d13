//go:build cgo && linux

package library

/*
#cgo CFLAGS: -O2 -Wall -fvisibility=hidden -I${SRCDIR}/../../../capi/include
#cgo LDFLAGS: -Wl,--export-dynamic -lpthread
#include <stdlib.h>
#include "host.h"
*/
import "C"

import (
	"unsafe"

	"triton/pkg/sharedlib"
	"triton/pkg/status"
	_ "triton/server/capi" // has the functions for errors and messages that libraries call
)

// Agent is an agent in a library. Its models may be used at the same time.
type Agent struct{ native *C.TRITONREPOAGENT_Agent }

var errMemory error = status.New(status.Unavailable, "no memory for a repository agent")

// Open opens the library at a path and initializes its agent.
func Open(path string) (*Agent, error) {
	l, err := sharedlib.Open(path)
	if err != nil {
		return nil, err
	}
	action, err := l.Require("TRITONREPOAGENT_ModelAction")
	if err != nil {
		return nil, err
	}
	a := &Agent{native: C.trt_agent_new(C.struct_trt_agent_functions{
		initialize:       l.Symbol("TRITONREPOAGENT_Initialize"),
		finalize:         l.Symbol("TRITONREPOAGENT_Finalize"),
		model_initialize: l.Symbol("TRITONREPOAGENT_ModelInitialize"),
		model_finalize:   l.Symbol("TRITONREPOAGENT_ModelFinalize"),
		model_action:     action,
	})}
	if a.native == nil {
		return nil, errMemory
	}
	var code C.int
	var message *C.char
	if err := failure(C.trt_agent_initialize(a.native, &code, &message), code, message); err != nil {
		_ = a.Close() // as in Triton; the error of the initialization matters
		return nil, err
	}
	return a, nil
}

// Close finalizes the agent. All its models are closed.
func (a *Agent) Close() error {
	var code C.int
	var message *C.char
	err := failure(C.trt_agent_finalize(a.native, &code, &message), code, message)
	C.trt_agent_delete(a.native)
	return err
}

// failure makes an error of the result of a call, and frees its message.
func failure(failed, code C.int, message *C.char) error {
	if failed == 0 {
		return nil
	}
	defer C.free(unsafe.Pointer(message))
	return status.New(status.Code(code), "%s", C.GoString(message))
}
