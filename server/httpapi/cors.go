package httpapi

import (
	"net/http"
	"slices"
)

// exposed are the reply headers that scripts of other origins may read.
const exposed = "Inference-Header-Content-Length, endpoint-load-metrics"

// cors adds the headers that let scripts of the allowed origins read the reply. It reports
// whether the request was OPTIONS and is answered.
func (a *api) cors(x *exchange, r *route) bool {
	origins := a.opts.Origins
	if len(origins) == 0 && x.Method != http.MethodOptions {
		return false
	}
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
	x.addHeader("Allow", r.methods.header())
	if allowed && x.Get("access-control-request-method") != "" {
		x.addHeader("Access-Control-Allow-Methods", r.methods.header())
		if wanted := x.Get("access-control-request-headers"); wanted != "" {
			x.addHeader("Access-Control-Allow-Headers", wanted)
		}
		x.addHeader("Access-Control-Max-Age", "600")
	}
	return true
}
