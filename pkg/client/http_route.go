package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"google.golang.org/protobuf/proto"

	"triton/pkg/client/internal/wire"
	"triton/pkg/inferencepb"
)

// route is the HTTP form of a message.
type route struct {
	httpCall
	wrap  string // field of the response message that the body holds
	probe bool   // the HTTP status is the whole response
}

type object = map[string]any

// routeOf returns the path, the method and the body of a message.
func routeOf(req proto.Message) (route, error) {
	get := func(path string) route { return route{httpCall: httpCall{method: http.MethodGet, path: path}} }
	probe := func(path string) route {
		r := get(path)
		r.probe = true
		return r
	}
	switch m := req.(type) {
	case *inferencepb.ServerLiveRequest:
		return probe("/v2/health/live"), nil
	case *inferencepb.ServerReadyRequest:
		return probe("/v2/health/ready"), nil
	case *inferencepb.ModelReadyRequest:
		return probe(wire.ModelPath(m.GetName(), m.GetVersion()) + "/ready"), nil
	case *inferencepb.ServerMetadataRequest:
		return get("/v2"), nil
	case *inferencepb.ModelMetadataRequest:
		return get(wire.ModelPath(m.GetName(), m.GetVersion())), nil
	case *inferencepb.ModelConfigRequest:
		r := get(wire.ModelPath(m.GetName(), m.GetVersion()) + "/config")
		r.wrap = "config"
		return r, nil
	case *inferencepb.ModelStatisticsRequest:
		if m.GetName() == "" {
			return get("/v2/models/stats"), nil
		}
		return get(wire.ModelPath(m.GetName(), m.GetVersion()) + "/stats"), nil
	case *inferencepb.RepositoryIndexRequest:
		r, err := post("/v2/repository/index", object{"ready": m.GetReady()})
		r.wrap, r.readOnly = "models", true
		return r, err
	case *inferencepb.RepositoryModelLoadRequest:
		return post("/v2/repository/models/"+url.PathEscape(m.GetModelName())+"/load", object{"parameters": repositoryParameters(m.GetParameters())})
	case *inferencepb.RepositoryModelUnloadRequest:
		return post("/v2/repository/models/"+url.PathEscape(m.GetModelName())+"/unload", object{"parameters": repositoryParameters(m.GetParameters())})
	}
	return routeOfExtension(req)
}

// routeOfExtension is routeOf for shared memory and settings.
func routeOfExtension(req proto.Message) (route, error) {
	get := route{httpCall: httpCall{method: http.MethodGet}}
	switch m := req.(type) {
	case *inferencepb.SystemSharedMemoryStatusRequest:
		get.path = regionPath("system", m.GetName()) + "/status"
		return get, nil
	case *inferencepb.CudaSharedMemoryStatusRequest:
		get.path = regionPath("cuda", m.GetName()) + "/status"
		return get, nil
	case *inferencepb.SystemSharedMemoryRegisterRequest:
		return post(regionPath("system", m.GetName())+"/register",
			object{"key": m.GetKey(), "offset": m.GetOffset(), "byte_size": m.GetByteSize()})
	case *inferencepb.CudaSharedMemoryRegisterRequest:
		return post(regionPath("cuda", m.GetName())+"/register",
			object{"raw_handle": object{"b64": m.GetRawHandle()}, "device_id": m.GetDeviceId(), "byte_size": m.GetByteSize()})
	case *inferencepb.SystemSharedMemoryUnregisterRequest:
		return post(regionPath("system", m.GetName())+"/unregister", object{})
	case *inferencepb.CudaSharedMemoryUnregisterRequest:
		return post(regionPath("cuda", m.GetName())+"/unregister", object{})
	case *inferencepb.TraceSettingRequest:
		path := "/v2/trace/setting"
		if m.GetModelName() != "" {
			path = wire.ModelPath(m.GetModelName(), "") + "/trace/setting"
		}
		if len(m.GetSettings()) == 0 {
			get.path = path
			return get, nil
		}
		return post(path, traceObject(m.GetSettings()))
	case *inferencepb.LogSettingsRequest:
		if len(m.GetSettings()) == 0 {
			get.path = "/v2/logging"
			return get, nil
		}
		return post("/v2/logging", logObject(m.GetSettings()))
	}
	return route{}, fmt.Errorf("HTTP has no form of %T", req)
}

func post(path string, body any) (route, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return route{}, fmt.Errorf("request to %s: %w", path, err)
	}
	return route{httpCall: httpCall{
		method: http.MethodPost, path: path, body: [][]byte{text}, header: map[string]string{"Content-Type": "application/json"},
	}}, nil
}

func regionPath(kind, name string) string {
	p := "/v2/" + kind + "sharedmemory"
	if name != "" {
		p += "/region/" + url.PathEscape(name)
	}
	return p
}

func repositoryParameters(all map[string]*inferencepb.ModelRepositoryParameter) object {
	o := object{}
	for name, p := range all {
		switch v := p.GetParameterChoice().(type) {
		case *inferencepb.ModelRepositoryParameter_BoolParam:
			o[name] = v.BoolParam
		case *inferencepb.ModelRepositoryParameter_StringParam:
			o[name] = v.StringParam
		case *inferencepb.ModelRepositoryParameter_BytesParam:
			o[name] = v.BytesParam // base64
		}
	}
	return o
}

func traceObject(all map[string]*inferencepb.TraceSettingRequest_SettingValue) object {
	o := object{}
	for name, s := range all {
		switch values := s.GetValue(); {
		case len(values) == 0:
			o[name] = nil
		case name == "trace_level":
			o[name] = values
		default:
			o[name] = values[0]
		}
	}
	return o
}

func logObject(all map[string]*inferencepb.LogSettingsRequest_SettingValue) object {
	o := object{}
	for name, s := range all {
		switch v := s.GetParameterChoice().(type) {
		case *inferencepb.LogSettingsRequest_SettingValue_BoolParam:
			o[name] = v.BoolParam
		case *inferencepb.LogSettingsRequest_SettingValue_Uint32Param:
			o[name] = v.Uint32Param
		case *inferencepb.LogSettingsRequest_SettingValue_StringParam:
			o[name] = v.StringParam
		}
	}
	return o
}
