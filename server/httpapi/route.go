package httpapi

import (
	"net/http"
	"net/url"
	"strings"
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
	repositoryIndex
	// The paths of Triton that this server knows but cannot serve yet.
	unsupported
)

// route is a parsed path.
type route struct {
	to      endpoint
	model   string
	version string // empty: the server's choice
	post    bool   // the one method allowed, else GET
}

// parse finds the endpoint of a path. The whole path must match as it was sent;
// only a model's name is percent-decoded.
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
	case "/logging", "/trace/setting":
		return route{to: unsupported}, true
	}
	if tail, ok := strings.CutPrefix(rest, "/repository"); ok {
		return parseRepository(tail)
	}
	for _, kind := range [...]string{"/systemsharedmemory", "/cudasharedmemory"} {
		if tail, ok := strings.CutPrefix(rest, kind); ok {
			return parseRegion(tail)
		}
	}
	return route{}, false
}

// parseModel reads what follows /v2/models/.
func parseModel(path string) (route, bool) {
	if path == "stats" {
		return route{to: modelStats}, true
	}
	name, rest := cut(path)
	r := route{to: modelMetadata}
	if name == "" {
		return r, false
	}
	var ok bool
	if r.model, ok = unescape(name); !ok {
		return r, false
	}
	if tail, ok := strings.CutPrefix(rest, "/versions/"); ok {
		r.version, rest = cut(tail)
		if !isNumber(r.version) {
			return r, false
		}
	}
	switch rest {
	case "":
	case "/infer":
		r.to, r.post = modelInfer, true
	case "/ready":
		r.to = modelReady
	case "/config":
		r.to = modelConfig
	case "/stats":
		r.to = modelStats
	case "/generate", "/generate_stream":
		r.to, r.post = unsupported, true
	case "/trace/setting":
		r.to = unsupported
		return r, r.version == ""
	default:
		return r, false
	}
	return r, true
}

// parseRepository reads what follows /v2/repository: an optional repository
// name, which Triton ignores, and the action.
func parseRepository(path string) (route, bool) {
	index, load := route{to: repositoryIndex, post: true}, route{to: unsupported, post: true}
	for range 2 {
		if path == "/index" {
			return index, true
		}
		if tail, ok := strings.CutPrefix(path, "/models/"); ok {
			name, action := cut(tail)
			if name != "" && (action == "/load" || action == "/unload") {
				return load, true
			}
		}
		if len(path) < 2 || path[0] != '/' {
			break
		}
		_, path = cut(path[1:])
	}
	return route{}, false
}

func parseRegion(path string) (route, bool) {
	if tail, ok := strings.CutPrefix(path, "/region/"); ok {
		var name string
		if name, path = cut(tail); name == "" {
			return route{}, false
		}
	}
	switch path {
	case "/status":
		return route{to: unsupported}, true
	case "/register", "/unregister":
		return route{to: unsupported, post: true}, true
	}
	return route{}, false
}

// cut splits a path before its first slash.
func cut(path string) (segment, rest string) {
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

// unescape decodes a name. One that holds a separator or climbs out of its
// place is refused.
func unescape(name string) (string, bool) {
	if strings.IndexByte(name, '%') >= 0 {
		if plain, err := url.PathUnescape(name); err == nil {
			name = plain
		}
	}
	return name, name != ".." && !strings.ContainsAny(name, "/\\\x00")
}

// allows says whether an endpoint takes the method.
func (r *route) allows(method string) bool {
	if r.post {
		return method == http.MethodPost
	}
	return method == http.MethodGet
}
