//go:build cgo && linux

package library

// #include <stdlib.h>
// #include "host.h"
import "C"

import (
	"os"
	"path/filepath"
	"unsafe"
)

// Model is a model that an agent has. One goroutine at a time uses it.
type Model struct {
	agent  *Agent
	native *C.TRITONREPOAGENT_AgentModel
}

// NewModel makes a model. Close deletes it, also if Initialize fails.
func (a *Agent) NewModel(s Spec) (*Model, error) {
	m := &Model{agent: a}
	ok := true
	with(func(text func(string) *C.char) {
		m.native = C.trt_agent_model_new(text(s.Config), text(filepath.Join(os.TempDir(), "triton-agent-XXXXXX")))
		if m.native == nil {
			ok = false
			return
		}
		kind := C.int(C.TRITONREPOAGENT_ARTIFACT_FILESYSTEM)
		if s.Location.Remote {
			kind = C.TRITONREPOAGENT_ARTIFACT_REMOTE_FILESYSTEM
		}
		ok = C.trt_agent_model_locate(m.native, kind, text(s.Location.Path)) == 0
		for _, p := range s.Parameters {
			ok = ok && C.trt_agent_model_parameter(m.native, text(p[0]), text(p[1])) == 0
		}
	})
	if !ok {
		if m.native != nil {
			C.trt_agent_model_delete(m.native)
		}
		return nil, errMemory
	}
	return m, nil
}

// with lets use make C texts, which are freed after it.
func with(use func(text func(string) *C.char)) {
	var all []*C.char
	use(func(s string) *C.char {
		text := C.CString(s)
		all = append(all, text)
		return text
	})
	for _, text := range all {
		C.free(unsafe.Pointer(text))
	}
}

// Initialize tells the agent of the model. It is called once, before Act.
func (m *Model) Initialize() error {
	defer m.discard(0)
	var code C.int
	var message *C.char
	return failure(C.trt_agent_model_initialize(m.agent.native, m.native, &code, &message), code, message)
}

// Act tells the agent what happens to the model.
func (m *Model) Act(a Action) error {
	defer m.discard(0)
	var code C.int
	var message *C.char
	return failure(C.trt_agent_model_action(m.agent.native, m.native, C.int(a), &code, &message), code, message)
}

// Location returns where the agent has the files of the model.
func (m *Model) Location() Location {
	var kind C.int
	path := C.trt_agent_model_location(m.native, &kind)
	defer C.free(unsafe.Pointer(path))
	return Location{Path: C.GoString(path), Remote: kind != C.TRITONREPOAGENT_ARTIFACT_FILESYSTEM}
}

// Close tells the agent that the model ends, and removes the directories that the agent has acquired.
func (m *Model) Close() error {
	var code C.int
	var message *C.char
	err := failure(C.trt_agent_model_finalize(m.agent.native, m.native, &code, &message), code, message)
	m.discard(1)
	C.trt_agent_model_delete(m.native)
	return err
}

// discard removes directories that the agent has released, or all that it has acquired.
func (m *Model) discard(all C.int) {
	for {
		path := C.trt_agent_model_discarded(m.native, all)
		if path == nil {
			return
		}
		_ = os.RemoveAll(C.GoString(path)) // a folder for temporary files: what is left does no harm
		C.free(unsafe.Pointer(path))
	}
}
