//go:build cgo && linux

package plugin

// #include <stdlib.h>
// #include "host.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/capi/inprocess"
)

// closeLimit bounds how long the end of a model waits for a backend that keeps requests or
// response factories.
const closeLimit = 30 * time.Second

// model is a loaded version of a model.
type model struct {
	lib  *library
	spec backend.Spec
	c    *C.TRITONBACKEND_Model
	h    handle

	// initializing is held by one initialization of an instance at a time, unless the
	// backend allows more.
	initializing sync.Mutex

	// Of the final configuration.
	sig       *backend.Signature
	outputs   []string
	states    []*inferencepb.ModelSequenceBatching_State
	all       []C.trt_wanted // all outputs, in C
	decoupled bool
	inputs    C.trt_names
	threads   threads
	left      atomic.Bool // a call of the library still uses an instance

	mu        sync.Mutex
	completed *inferencepb.ModelConfig // set by the backend
	memory    []backend.Memory
	open      int // requests that the backend has not ended
	idle      sync.Cond
	server    *inprocess.Server                // through which the backend calls other models
	retired   []*C.TRITONBACKEND_ModelInstance // of instances that have ended
}

var (
	_ backend.Model          = (*model)(nil)
	_ backend.MemoryReporter = (*model)(nil)
)

// describe makes what a backend sees of a model.
func describe(l *library, spec backend.Spec) (*model, error) {
	m := &model{lib: l, spec: spec}
	m.idle.L = &m.mu
	m.h = models.add(m)
	c := allocate[C.TRITONBACKEND_Model]()
	m.c = c
	c.kind, c.handle, c.backend = C.TRT_MODEL, C.uint64_t(m.h), l.c
	c.name, c.location, c.version = C.CString(spec.Name), C.CString(filepath.Dir(spec.Dir)), C.uint64_t(spec.Version)
	c.auto_complete = C.bool(spec.Settings["auto-complete-config"] != "false")
	if err := m.setConfig(spec.Config); err != nil {
		m.free()
		return nil, err
	}
	return m, nil
}

// newModel makes a model and lets the backend initialize it. completed is the configuration
// that the backend has set; nil: none.
func newModel(l *library, spec backend.Spec) (_ *model, completed *inferencepb.ModelConfig, err error) {
	m, err := describe(l, spec)
	if err != nil {
		return nil, nil, err
	}
	c := m.c
	if l.modelInitialize != nil {
		c.initializing = true
		err = take(C.trt_call_model(l.modelInitialize, c))
		c.initializing = false
	}
	if err != nil {
		if end := m.finalize(); end != nil {
			spec.Log.Error(end.Error(), "model", spec.Name)
		}
		m.free()
		return nil, nil, err
	}
	return m, m.completed, nil
}

// setConfig sets the configuration that the backend reads.
func (m *model) setConfig(cfg *inferencepb.ModelConfig) error {
	text, err := modelconfig.MarshalJSON(cfg)
	if err != nil {
		return err
	}
	C.free(unsafe.Pointer(m.c.config))
	m.c.config = (*C.char)(C.CBytes(append(text, 0)))
	m.c.config_size = C.size_t(len(text))
	return nil
}

// complete takes the configuration that the backend sets.
func (m *model) complete(text []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	current := m.completed
	if current == nil {
		current = m.spec.Config
	}
	next, err := merged(current, text)
	if err != nil {
		return err
	}
	m.completed = next
	return m.setConfig(next)
}

// configure prepares the model for its final configuration.
func (m *model) configure(cfg *inferencepb.ModelConfig) error {
	if err := m.setSignature(cfg); err != nil {
		return err
	}
	m.threads.init(m)
	return nil
}

func (m *model) setSignature(cfg *inferencepb.ModelConfig) error {
	if err := m.setConfig(cfg); err != nil {
		return err
	}
	m.spec.Config = cfg
	m.sig = backend.NewSignature(cfg)
	m.decoupled = cfg.Decoupled()
	m.c.decoupled = C.bool(m.decoupled)
	for _, o := range cfg.GetOutput() {
		m.outputs = append(m.outputs, o.GetName())
	}
	m.states = cfg.GetSequenceBatching().GetState()
	var states []string
	for _, s := range m.states {
		states = append(states, s.GetOutputName())
	}
	var inputs []string
	for _, i := range m.sig.Inputs {
		inputs = append(inputs, i.Name)
	}
	m.inputs, m.c.outputs, m.c.states = names(inputs), names(m.outputs), names(states)
	if n := len(m.outputs); n > 0 {
		m.all = unsafe.Slice((*C.trt_wanted)(C.calloc(C.size_t(n), C.size_t(unsafe.Sizeof(C.trt_wanted{})))), n)
		for i, name := range unsafe.Slice(m.c.outputs.names, n) {
			m.all[i].name = name
		}
	}
	return nil
}

// NewInstance makes an instance. Instances of a model are made one after the other unless the
// backend allows more.
func (m *model) NewInstance(_ context.Context, at backend.Placement) (backend.Instance, error) {
	if !m.parallel() {
		m.initializing.Lock()
		defer m.initializing.Unlock()
	}
	in, err := newInstance(m, at)
	if err != nil {
		return nil, err
	}
	if m.lib.ready != nil {
		return checkedInstance{in}, nil
	}
	return in, nil
}

// input returns the configuration's input of that name, which is most likely number i, and the
// name in C; nil if there is none.
func (m *model) input(i int, name string) (*backend.Value, *C.char) {
	if i < 0 || i >= len(m.sig.Inputs) || m.sig.Inputs[i].Name != name {
		i = slices.IndexFunc(m.sig.Inputs, func(v backend.Value) bool { return v.Name == name })
	}
	if i < 0 {
		return nil, nil
	}
	return &m.sig.Inputs[i], unsafe.Slice(m.inputs.names, m.inputs.count)[i]
}

// outputName returns the name of an output in C; nil if there is none.
func (m *model) outputName(name string) *C.char {
	i := slices.Index(m.outputs, name)
	if i < 0 {
		return nil
	}
	return unsafe.Slice(m.c.outputs.names, m.c.outputs.count)[i]
}

// retire frees the struct of an instance with the model.
func (m *model) retire(c *C.TRITONBACKEND_ModelInstance) {
	m.mu.Lock()
	m.retired = append(m.retired, c)
	m.mu.Unlock()
}

// callees returns the TRITONSERVER_Server through which the backend calls other models.
func (m *model) callees() unsafe.Pointer {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.server == nil {
		o := inprocess.Options{Control: m.spec.Controller}
		if m.spec.Submitter != nil {
			o.Models = m.spec.Submitter()
		}
		m.server = inprocess.New(o)
	}
	return m.server.Handle()
}

// Memory returns what the backend has reported.
func (m *model) Memory() []backend.Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.memory
}

// began and ended count the requests that the backend has.
func (m *model) began() {
	m.mu.Lock()
	m.open++
	m.mu.Unlock()
}

func (m *model) ended() {
	m.mu.Lock()
	if m.open--; m.open == 0 {
		m.idle.Broadcast()
	}
	m.mu.Unlock()
}

// waitIdle waits until the backend has no request and no response factory, and reports
// whether that is so.
func (m *model) waitIdle() bool {
	timer := time.AfterFunc(closeLimit, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.idle.Broadcast()
	})
	defer timer.Stop()
	deadline := time.Now().Add(closeLimit)
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.open > 0 && time.Now().Before(deadline) {
		m.idle.Wait()
	}
	return m.open == 0
}

func (m *model) finalize() error {
	if m.lib.modelFinalize == nil {
		return nil
	}
	if err := take(C.trt_call_model(m.lib.modelFinalize, m.c)); err != nil {
		return fmt.Errorf("failed finalizing model: %w", err)
	}
	return nil
}

// Close ends the model. It waits for response factories, as they use the model; memory that a
// backend never returns is not freed.
func (m *model) Close() error {
	if m.left.Load() {
		m.threads.close()
		return status.New(status.Internal, "model '%s' is not finalized, and its memory is not freed, because its backend still uses an instance", m.spec.Name)
	}
	idle := m.waitIdle()
	err := m.finalize()
	if !idle {
		kept := status.New(status.Internal, "model '%s' ended while its backend kept requests or response factories", m.spec.Name)
		return errors.Join(kept, err)
	}
	m.free()
	return err
}

func (m *model) free() {
	models.remove(m.h)
	m.threads.close()
	if m.server != nil {
		m.server.Close()
	}
	c := m.c
	c.kind = C.TRT_FREED
	C.trt_names_clear(&c.outputs)
	C.trt_names_clear(&c.states)
	C.trt_names_clear(&m.inputs)
	for _, i := range m.retired {
		C.trt_discard(unsafe.Pointer(i))
	}
	C.free(unsafe.Pointer(unsafe.SliceData(m.all)))
	C.free(unsafe.Pointer(c.config))
	C.free(unsafe.Pointer(c.name))
	C.free(unsafe.Pointer(c.location))
	C.trt_discard(unsafe.Pointer(c))
}
