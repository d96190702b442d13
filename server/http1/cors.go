package http1

import (
	"net/http"
	"slices"
)

// AllowOrigin adds the headers that let scripts of web origins, "*" for all, read the reply: methods are those of the
// request's path, and exposed the reply headers that they may read. It reports whether the request was OPTIONS, which
// that answers.
func (x *Exchange) AllowOrigin(origins []string, methods, exposed string) (answered bool) {
	origin := x.Get("origin")
	allowed := origin != "" && (slices.Contains(origins, "*") || slices.Contains(origins, origin))
	if len(origins) > 0 {
		x.addHeader("Vary", "Origin")
	}
	if allowed {
		x.addHeader("Access-Control-Allow-Origin", origin)
	}
	if x.Method != http.MethodOptions {
		if allowed {
			x.addHeader("Access-Control-Expose-Headers", exposed)
		}
		return false
	}
	x.addHeader("Allow", methods)
	if allowed && x.Get("access-control-request-method") != "" {
		x.addHeader("Access-Control-Allow-Methods", methods)
		if wanted := x.Get("access-control-request-headers"); wanted != "" {
			x.addHeader("Access-Control-Allow-Headers", wanted)
		}
		x.addHeader("Access-Control-Max-Age", "600")
	}
	return true
}

func (x *Exchange) addHeader(name, value string) {
	x.Extra = append(x.Extra, Field{Name: name, Value: value})
}
