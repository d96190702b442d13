//go:build cgo && linux

package plugin

// #include <stdlib.h>
// #include "host.h"
import "C"

import (
	"cmp"
	"encoding/json"
	"log/slog"
	"maps"
	"path/filepath"
	"sync"
	"unsafe"

	"triton/pkg/modelconfig"
	"triton/pkg/sharedlib"
	"triton/server/backend"
)

// entries are the functions of a library; all but execute may be nil.
type entries struct {
	initialize, finalize, attribute      unsafe.Pointer
	modelInitialize, modelFinalize       unsafe.Pointer
	instanceInitialize, instanceFinalize unsafe.Pointer
	execute, ready                       unsafe.Pointer
}

// library is an opened and initialized backend. There is one for each file and folder of
// artifacts; it is never closed.
type library struct {
	entries
	file      *sharedlib.Library
	c         *C.TRITONBACKEND_Backend
	parallel  bool
	preferred []modelconfig.PreferredGroup
	settings  map[string]string
}

// opened holds the libraries of the process, as the dynamic loader does.
var opened struct {
	sync.Mutex
	all map[Location]*opening
}

// opening is the one library of a location. Its lock is held while the library starts, which
// loads of models of other libraries do not wait for.
type opening struct {
	sync.Mutex
	library *library // nil until it has started
}

// open returns the library at a location, and opens it at its first use, with the settings of
// that time.
func open(where Location, spec *backend.Spec) (*library, error) {
	o := openingOf(Location{Name: where.Name, Library: where.Library, Artifacts: where.Artifacts})
	o.Lock()
	defer o.Unlock()
	if o.library != nil {
		return o.library, nil
	}
	l, err := load(where, spec.Settings)
	if err != nil {
		return nil, err
	}
	o.library = l
	return l, nil
}

func openingOf(key Location) *opening {
	opened.Lock()
	defer opened.Unlock()
	if opened.all == nil {
		opened.all = map[Location]*opening{}
	}
	if opened.all[key] == nil {
		opened.all[key] = &opening{}
	}
	return opened.all[key]
}

func load(where Location, settings map[string]string) (*library, error) {
	file, err := sharedlib.Open(where.Library)
	if err != nil {
		return nil, err
	}
	l := &library{file: file, settings: settings}
	l.entries = entries{
		initialize: file.Symbol("TRITONBACKEND_Initialize"), finalize: file.Symbol("TRITONBACKEND_Finalize"),
		attribute:       file.Symbol("TRITONBACKEND_GetBackendAttribute"),
		modelInitialize: file.Symbol("TRITONBACKEND_ModelInitialize"), modelFinalize: file.Symbol("TRITONBACKEND_ModelFinalize"),
		instanceInitialize: file.Symbol("TRITONBACKEND_ModelInstanceInitialize"), instanceFinalize: file.Symbol("TRITONBACKEND_ModelInstanceFinalize"),
		ready: file.Symbol("TRITONBACKEND_ModelInstanceReady"),
	}
	if l.execute, err = file.Require("TRITONBACKEND_ModelInstanceExecute"); err != nil {
		return nil, err
	}
	text, err := json.Marshal(map[string]any{"cmdline": withDefaults(settings)})
	if err != nil {
		return nil, err
	}
	l.c = allocate[C.TRITONBACKEND_Backend]()
	l.c.kind = C.TRT_BACKEND
	l.c.name, l.c.location = C.CString(where.Name), C.CString(cmp.Or(where.Artifacts, filepath.Dir(where.Library)))
	if l.c.config, err = message(text); err == nil {
		err = l.start()
	}
	if err != nil {
		l.discard()
		return nil, err
	}
	return l, nil
}

// discard frees what the backend sees of itself. A thread that it has left behind finds it freed.
func (l *library) discard() {
	C.free(unsafe.Pointer(l.c.name))
	C.free(unsafe.Pointer(l.c.location))
	C.TRITONSERVER_MessageDelete(l.c.config)
	l.c.name, l.c.location, l.c.config, l.c.kind = nil, nil, nil, C.TRT_FREED
	C.trt_discard(unsafe.Pointer(l.c))
	l.c = nil
}

// pluginSetting is the key by which the user asks for the library of a backend.
const pluginSetting = "plugin"

// withDefaults returns the settings as a backend gets them.
func withDefaults(settings map[string]string) map[string]string {
	all := maps.Clone(settings)
	if all == nil {
		all = map[string]string{}
	}
	for _, ours := range []string{pluginSetting, threadSetting} {
		delete(all, ours)
	}
	const key = "default-max-batch-size"
	if all[key] == "" {
		all[key] = "4"
	}
	return all
}

// start calls the entry points that come before the first model.
func (l *library) start() error {
	l.c.initializing = true
	defer func() { l.c.initializing = false }()
	if l.initialize != nil {
		if err := take(C.trt_call_backend(l.initialize, l.c)); err != nil {
			return err
		}
	}
	if l.attribute == nil {
		return nil
	}
	a := allocate[C.TRITONBACKEND_BackendAttribute]()
	defer C.free(unsafe.Pointer(a))
	a.kind = C.TRT_ATTRIBUTE
	err := take(C.trt_call_attribute(l.attribute, l.c, a))
	defer C.trt_attribute_clear(a)
	if err != nil {
		return err
	}
	l.parallel = bool(a.parallel)
	for g := a.first; g != nil; g = g.next {
		p := modelconfig.PreferredGroup{Kind: kindFromC(g.kind), Count: int32(g.count)}
		for _, d := range unsafe.Slice(g.devices, g.device_count) {
			p.GPUs = append(p.GPUs, int32(d))
		}
		l.preferred = append(l.preferred, p)
	}
	return nil
}

// Finalize calls the last entry point of all libraries that were opened. It is for the end of
// the process.
func Finalize(log *slog.Logger) {
	opened.Lock()
	all := opened.all
	opened.all = nil
	opened.Unlock()
	for where, o := range all {
		if !o.TryLock() { // it starts still, perhaps for ever
			continue
		}
		l := o.library
		o.Unlock()
		if l == nil || l.finalize == nil {
			continue
		}
		if err := take(C.trt_call_backend(l.finalize, l.c)); err != nil {
			log.Error("failed finalizing backend", "backend", where.Name, "error", err)
		}
	}
}
