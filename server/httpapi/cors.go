package httpapi

import (
	"net/http"
	"slices"
)

// exposed are the headers of replies that scripts of other origins may read.
const exposed = "Inference-Header-Content-Length, endpoint-load-metrics"

// cors answers OPTIONS, and lets scripts of the allowed origins read what the
// server answers. True when the request was answered.
func (a *api) cors(x *exchange, r *route) bool {
	origins := a.opts.Origins
	if len(origins) == 0 && x.method != http.MethodOptions {
		return false
	}
	origin := x.fields.get("origin")
	allowed := origin != "" && (slices.Contains(origins, "*") || slices.Contains(origins, origin))
	if len(origins) > 0 {
		x.say("Vary", "Origin")
	}
	if allowed {
		x.say("Access-Control-Allow-Origin", origin)
	}
	if x.method != http.MethodOptions {
		if allowed {
			x.say("Access-Control-Expose-Headers", exposed)
		}
		return false
	}
	x.say("Allow", r.methods())
	if allowed && x.fields.get("access-control-request-method") != "" {
		x.say("Access-Control-Allow-Methods", r.methods())
		if wanted := x.fields.get("access-control-request-headers"); wanted != "" {
			x.say("Access-Control-Allow-Headers", wanted)
		}
		x.say("Access-Control-Max-Age", "600")
	}
	return true
}
