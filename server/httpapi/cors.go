package httpapi

import "net/http"

// exposed are the reply headers that scripts of other origins may read.
const exposed = "Inference-Header-Content-Length, endpoint-load-metrics"

// cors adds the headers that let scripts of the allowed origins read the reply. It reports
// whether the request was OPTIONS and is answered.
func (a *api) cors(x *exchange, r *route) bool {
	if len(a.opts.Origins) == 0 && x.Method != http.MethodOptions {
		return false
	}
	return x.AllowOrigin(a.opts.Origins, r.methods.header(), exposed)
}
