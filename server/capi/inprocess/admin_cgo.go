//go:build cgo && linux

package inprocess

// #include "objects.h"
import "C"

import (
	"context"
	"time"
	"unsafe"

	"triton/pkg/modelconfig"
	"triton/pkg/status"
	"triton/server/capi"
	"triton/server/frontend"
	"triton/server/infer"
)

// service calls f with the service of a server.
func service(server C.uintptr_t, what string, f func(infer.Service) error) *C.TRITONSERVER_Error {
	return call(func() error {
		s := serverOf(server).opts.Service
		if s == nil {
			return unsupported(what)
		}
		return f(s)
	})
}

// message calls f and stores the JSON that it returns.
func message(server C.uintptr_t, what string, at *unsafe.Pointer, f func(infer.Service) ([]byte, error)) *C.TRITONSERVER_Error {
	return service(server, what, func(s infer.Service) error {
		text, err := f(s)
		if err == nil {
			*at = capi.NewMessage(text)
		}
		return err
	})
}

//export capiIsLive
func capiIsLive(server C.uintptr_t, live *C.bool) *C.TRITONSERVER_Error {
	return service(server, "the state of the server", func(s infer.Service) error {
		*live = C.bool(s.Live())
		return nil
	})
}

//export capiIsReady
func capiIsReady(server C.uintptr_t, ready *C.bool) *C.TRITONSERVER_Error {
	return service(server, "the state of the server", func(s infer.Service) error {
		*ready = C.bool(s.Ready())
		return nil
	})
}

//export capiMetadata
func capiMetadata(server C.uintptr_t, at *unsafe.Pointer) *C.TRITONSERVER_Error {
	return message(server, "the metadata of the server", at, func(s infer.Service) ([]byte, error) {
		return frontend.AppendServerMetadata(nil, s.Metadata()), nil
	})
}

//export capiModelMetadata
func capiModelMetadata(server C.uintptr_t, name *C.char, version C.int64_t, at *unsafe.Pointer) *C.TRITONSERVER_Error {
	return call(func() error {
		m, err := serverOf(server).describe(name, version)
		if err != nil {
			return err
		}
		defer m.Release()
		metadata := m.Metadata()
		versions := metadata.GetVersions()
		if version >= 0 {
			versions = []string{m.Version()}
		}
		*at = capi.NewMessage(frontend.AppendModelMetadata(nil, metadata, versions))
		return nil
	})
}

//export capiModelConfig
func capiModelConfig(server C.uintptr_t, name *C.char, version C.int64_t, form C.uint32_t, at *unsafe.Pointer) *C.TRITONSERVER_Error {
	return call(func() error {
		m, err := serverOf(server).describe(name, version)
		if err != nil {
			return err
		}
		defer m.Release()
		if form != 1 {
			return status.New(status.InvalidArg, "model configuration version %d not supported, supported versions are: 1", form)
		}
		text, err := modelconfig.MarshalJSON(m.Config())
		if err == nil {
			*at = capi.NewMessage(text)
		}
		return err
	})
}

//export capiModelStatistics
func capiModelStatistics(server C.uintptr_t, name *C.char, version C.int64_t, at *unsafe.Pointer) *C.TRITONSERVER_Error {
	return message(server, "statistics", at, func(s infer.Service) ([]byte, error) {
		all, err := s.Statistics(C.GoString(name), versionText(version))
		if err != nil {
			return nil, err
		}
		return frontend.AppendStatistics(nil, all), nil
	})
}

//export capiModelIndex
func capiModelIndex(server C.uintptr_t, readyOnly C.bool, at *unsafe.Pointer) *C.TRITONSERVER_Error {
	return message(server, "the index of the repositories", at, func(s infer.Service) ([]byte, error) {
		if err := frontend.CheckIndex(s); err != nil {
			return nil, err
		}
		return frontend.AppendIndex(nil, s.Index(bool(readyOnly))), nil
	})
}

// controller returns what loads and unloads models.
func (s *Server) controller() (infer.Controller, error) {
	switch {
	case s.opts.Service != nil:
		return s.opts.Service, nil
	case s.opts.Control != nil:
		return s.opts.Control, nil
	}
	return nil, unsupported("model control")
}

//export capiLoad
func capiLoad(server C.uintptr_t, name *C.char, parameters *unsafe.Pointer, count C.uint64_t) *C.TRITONSERVER_Error {
	return call(func() error {
		c, err := serverOf(server).controller()
		if err != nil {
			return err
		}
		var o infer.LoadOptions
		for _, p := range unsafe.Slice(parameters, count) {
			if err := addLoadParameter(&o, (*C.TRITONSERVER_Parameter)(p)); err != nil {
				return err
			}
		}
		return c.Load(context.Background(), C.GoString(name), o)
	})
}

// addLoadParameter adds a parameter of a load: the configuration, or the content of a file.
func addLoadParameter(o *infer.LoadOptions, p *C.TRITONSERVER_Parameter) error {
	if p == nil {
		return status.New(status.InvalidArg, "a load parameter must not be null")
	}
	name := C.GoString(p.name)
	known, err := frontend.AddLoadParameter(o, name, loadValue{name, p})
	if err == nil && !known {
		return status.New(status.InvalidArg, "Unrecognized load parameter '%s' with type '%s'", name, C.GoString(C.TRITONSERVER_ParameterTypeString(p._type)))
	}
	return err
}

// loadValue is the value of a load parameter.
type loadValue struct {
	name string
	p    *C.TRITONSERVER_Parameter
}

// Text returns a text.
func (v loadValue) Text() (string, error) {
	if v.p._type != C.TRITONSERVER_PARAMETER_STRING {
		return "", v.wrong("a string")
	}
	return C.GoString((*C.char)(C.capi_parameter_value(v.p))), nil
}

// Content returns a copy of bytes.
func (v loadValue) Content() ([]byte, error) {
	if v.p._type != C.TRITONSERVER_PARAMETER_BYTES {
		return nil, v.wrong("bytes")
	}
	return append([]byte{}, unsafe.Slice((*byte)(C.capi_parameter_value(v.p)), v.p.size)...), nil
}

func (v loadValue) wrong(want string) error {
	return status.New(status.InvalidArg, "load parameter '%s' must have %s for value", v.name, want)
}

//export capiUnload
func capiUnload(server C.uintptr_t, name *C.char, dependents C.bool) *C.TRITONSERVER_Error {
	return call(func() error {
		c, err := serverOf(server).controller()
		if err != nil {
			return err
		}
		return c.Unload(context.Background(), C.GoString(name), bool(dependents))
	})
}

//export capiPoll
func capiPoll(server C.uintptr_t) *C.TRITONSERVER_Error {
	return call(func() error {
		if f := serverOf(server).opts.Poll; f != nil {
			return f()
		}
		return unsupported("a poll of the repositories")
	})
}

//export capiRegister
func capiRegister(server C.uintptr_t, path *C.char, mapping **C.TRITONSERVER_Parameter, count C.uint32_t) *C.TRITONSERVER_Error {
	return call(func() error {
		f := serverOf(server).opts.Register
		if f == nil {
			return unsupported("the registration of repositories")
		}
		names, models := map[string]string{}, map[string]bool{}
		for _, m := range unsafe.Slice(mapping, count) {
			folder, model := C.GoString(m.name), C.GoString(*(**C.char)(unsafe.Pointer(&m.value)))
			if _, known := names[folder]; known || models[model] {
				return status.New(status.InvalidArg, "failed to register '%s', there is a conflicting mapping for '%s'", model, model)
			}
			names[folder], models[model] = model, true
		}
		return f(C.GoString(path), names)
	})
}

//export capiUnregister
func capiUnregister(server C.uintptr_t, path *C.char) *C.TRITONSERVER_Error {
	return call(func() error {
		f := serverOf(server).opts.Unregister
		if f == nil {
			return unsupported("the registration of repositories")
		}
		return f(C.GoString(path))
	})
}

//export capiMetrics
func capiMetrics(server C.uintptr_t, text **C.char) *C.TRITONSERVER_Error {
	return call(func() error {
		f := serverOf(server).opts.Metrics
		if f == nil {
			return unsupported("the text of the metrics")
		}
		b, err := f()
		if err == nil {
			*text = C.CString(string(b))
		}
		return err
	})
}

//export capiSetExitTimeout
func capiSetExitTimeout(server C.uintptr_t, seconds C.uint) *C.TRITONSERVER_Error {
	return call(func() error {
		f := serverOf(server).opts.SetExitTimeout
		if f == nil {
			return unsupported("the exit timeout")
		}
		f(time.Duration(seconds) * time.Second)
		return nil
	})
}

//export capiStop
func capiStop(server C.uintptr_t) *C.TRITONSERVER_Error {
	return call(func() error { return serverOf(server).stop() })
}

func (s *Server) stop() error {
	if s.opts.Stop == nil {
		return unsupported("a stop of the server")
	}
	return s.opts.Stop()
}

//export capiDelete
func capiDelete(server *C.TRITONSERVER_Server) *C.TRITONSERVER_Error {
	return call(func() error {
		s := serverOf(server.handle)
		if err := s.stop(); err != nil {
			return err
		}
		s.Close()
		return nil
	})
}

//export capiStart
func capiStart(options *C.TRITONSERVER_ServerOptions, at *unsafe.Pointer) *C.TRITONSERVER_Error {
	return call(func() error {
		st := starter.Load()
		if st == nil {
			return status.New(status.Unsupported, "backends cannot start servers; use the one of TRITONBACKEND_ModelServer")
		}
		var all []Setting
		for _, from := range unsafe.Slice(options.settings, options.count) {
			to := Setting{Name: C.GoString(from.name), Number: int64(from.number), Fraction: float64(from.fraction)}
			for i, text := range from.text {
				to.Text[i] = C.GoString(text)
			}
			all = append(all, to)
		}
		o, err := st.Start(all)
		if err != nil {
			return err
		}
		*at = New(o).Handle()
		return nil
	})
}

//export capiSetLog
func capiSetLog(name, text *C.char, number C.int64_t) *C.TRITONSERVER_Error {
	return call(func() error {
		st := starter.Load()
		if st == nil {
			return status.New(status.Unsupported, "backends cannot change the log")
		}
		return st.Log(C.GoString(name), C.GoString(text), int64(number))
	})
}
