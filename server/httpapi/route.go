package httpapi

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"triton/pkg/kserve"
)

// endpoint is what a path names.
type endpoint uint8

const (
	none endpoint = iota
	serverLive
	serverReady
	serverMetadata
	modelReady
	modelMetadata
	modelConfig
	modelStats
	modelInfer
	modelGenerate
	modelGenerateStream
	repositoryIndex
	repositoryLoad
	repositoryUnload
	systemStatus
	systemRegister
	systemUnregister
	cudaStatus
	cudaRegister
	cudaUnregister
	traceSetting
	logSettings
	trafficRules
	trafficList
	trafficDiffs
	trafficPromote
	trafficRollback
	fleetState
	endpointCount
)

// route is a parsed path.
type route struct {
	to           endpoint
	model        string
	version      string // empty: the server's choice
	region       string // of shared memory; empty: all
	inRepository bool   // the path named a repository
	methods      methods
}

// methods is a set of methods; empty: GET. HEAD is GET without a body in the reply.
type methods uint8

const (
	get methods = 1 << iota
	post
	put
	del
)

// parse finds the endpoint of a path. The whole path must match as it was sent; only names are
// percent-decoded.
func parse(path string) (route, bool) {
	rest, ok := strings.CutPrefix(path, "/v2")
	if !ok {
		return route{}, false
	}
	if name, ok := strings.CutPrefix(rest, "/models/"); ok {
		return parseModel(name)
	}
	switch rest {
	case "":
		return route{to: serverMetadata}, true
	case "/health/live":
		return route{to: serverLive}, true
	case "/health/ready":
		return route{to: serverReady}, true
	case "/logging":
		return route{to: logSettings, methods: get | post}, true
	case "/trace/setting":
		return route{to: traceSetting, methods: get | post}, true
	}
	if tail, ok := strings.CutPrefix(rest, "/repository"); ok {
		if r, ok := parseTraffic(tail); ok {
			return r, true
		}
		return parseRepository(tail)
	}
	if tail, ok := strings.CutPrefix(rest, "/systemsharedmemory"); ok {
		return parseRegion(tail, systemStatus, systemRegister, systemUnregister)
	}
	if tail, ok := strings.CutPrefix(rest, "/cudasharedmemory"); ok {
		return parseRegion(tail, cudaStatus, cudaRegister, cudaUnregister)
	}
	return route{}, false
}

// parseModel reads what follows /v2/models/.
func parseModel(path string) (route, bool) {
	if path == "stats" {
		return route{to: modelStats}, true
	}
	name, rest := cutSegment(path)
	r := route{to: modelMetadata}
	if name == "" {
		return r, false
	}
	var ok bool
	if r.model, ok = unescape(name); !ok {
		return r, false
	}
	if tail, ok := strings.CutPrefix(rest, "/versions/"); ok {
		r.version, rest = cutSegment(tail)
		if !isNumber(r.version) {
			return r, false
		}
	}
	switch rest {
	case "":
	case "/infer":
		r.to, r.methods = modelInfer, post
	case "/ready":
		r.to = modelReady
	case "/config":
		r.to = modelConfig
	case "/stats":
		r.to = modelStats
	case "/generate":
		r.to, r.methods = modelGenerate, post
	case "/generate_stream":
		r.to, r.methods = modelGenerateStream, post
	case "/trace/setting":
		r.to, r.methods = traceSetting, get|post
		return r, r.version == ""
	default:
		return r, false
	}
	return r, true
}

// parseRepository reads what follows /v2/repository: an optional repository name and the action.
func parseRepository(path string) (route, bool) {
	if path == "/state" {
		return route{to: fleetState, methods: get | put}, true
	}
	r := route{to: repositoryIndex, methods: post}
	for range 2 {
		if path == "/index" {
			return r, true
		}
		if tail, ok := strings.CutPrefix(path, "/models/"); ok {
			name, action := cutSegment(tail)
			switch action {
			case "/load":
				r.to = repositoryLoad
			case "/unload":
				r.to = repositoryUnload
			}
			if name != "" && r.to != repositoryIndex {
				// The service checks the name: its error text is for clients.
				if plain, err := url.PathUnescape(name); err == nil {
					name = plain
				}
				r.model = name
				return r, true
			}
		}
		if len(path) < 2 || path[0] != '/' {
			break
		}
		_, path = cutSegment(path[1:])
		r.inRepository = true
	}
	return route{}, false
}

func parseRegion(path string, list, register, unregister endpoint) (route, bool) {
	var r route
	if tail, ok := strings.CutPrefix(path, "/region/"); ok {
		if r.region, path = cutSegment(tail); r.region == "" {
			return route{}, false
		}
		if plain, err := url.PathUnescape(r.region); err == nil {
			r.region = plain
		}
	}
	switch path {
	case "/status":
		r.to = list
	case "/register":
		r.to, r.methods = register, post
	case "/unregister":
		r.to, r.methods = unregister, post
	default:
		return route{}, false
	}
	return r, true
}

// cutSegment splits a path before its first slash.
func cutSegment(path string) (segment, rest string) {
	if i := strings.IndexByte(path, '/'); i >= 0 {
		return path[:i], path[i:]
	}
	return path, ""
}

func isNumber(s string) bool {
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return s != ""
}

// unescape decodes a name. It refuses names with a separator and "..".
func unescape(name string) (string, bool) {
	if strings.IndexByte(name, '%') >= 0 {
		if plain, err := url.PathUnescape(name); err == nil {
			name = plain
		}
	}
	return name, name != ".." && !strings.ContainsAny(name, "/\\\x00")
}

// checkNames applies the limits of names, which errors and replies repeat.
func (r *route) checkNames() error {
	if len(r.model) <= kserve.MaxName && len(r.version) <= kserve.MaxName && len(r.region) <= kserve.MaxName {
		return nil
	}
	return errors.Join(
		kserve.CheckLength("model name", len(r.model), kserve.MaxName), kserve.CheckLength("model version", len(r.version), kserve.MaxName),
		kserve.CheckLength("name of a shared memory region", len(r.region), kserve.MaxName))
}

// allows reports whether the set has a method.
func (s methods) allows(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead:
		return s == 0 || s&get != 0
	case http.MethodPost:
		return s&post != 0
	case http.MethodPut:
		return s&put != 0
	case http.MethodDelete:
		return s&del != 0
	}
	return false
}

// header returns the set as the value of an Allow header.
func (s methods) header() string {
	all := ""
	for _, m := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete} {
		if s.allows(m) {
			all += m + ", "
		}
	}
	return all + http.MethodOptions
}
