package platform

import (
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"triton/pkg/status"
	"triton/server/http1"
	"triton/server/infer"
)

const vertexFraming framing = "application/vnd.vertex-ai-triton.binary+json;json-header-size="

// redirectHeader is the header that names the call to which a prediction is redirected.
const redirectHeader = "x-vertex-ai-triton-redirect"

// VertexOptions are the settings of the frontend for Vertex AI.
type VertexOptions struct {
	// HTTP is the KServe API, Metrics the metrics endpoint; nil without metrics.
	HTTP, Metrics http1.Handler
	// PredictRoute and HealthRoute are the paths from AIP_PREDICT_ROUTE and
	// AIP_HEALTH_ROUTE.
	PredictRoute, HealthRoute string
	// DefaultModel is the model of predictions that are not redirected. It may be empty if
	// exactly one model is ready.
	DefaultModel string
}

// NewVertex returns the frontend for Vertex AI. It checks the options against the ready models.
func NewVertex(svc infer.Service, o VertexOptions) (http1.Handler, error) {
	switch {
	case o.PredictRoute == "":
		return nil, status.New(status.InvalidArg, "API_PREDICT_ROUTE is not defined for Vertex AI endpoint")
	case o.HealthRoute == "":
		return nil, status.New(status.InvalidArg, "AIP_HEALTH_ROUTE is not defined for Vertex AI endpoint")
	}
	ready := map[string]bool{}
	for _, m := range svc.Index(true).GetModels() {
		ready[m.GetName()] = true
	}
	switch {
	case o.DefaultModel == "" && len(ready) != 1:
		return nil, status.New(status.InvalidArg, "Expect the model repository contains only a single model if default model is not specified")
	case o.DefaultModel == "":
		o.DefaultModel = slices.Collect(maps.Keys(ready))[0]
	case !ready[o.DefaultModel]:
		return nil, status.New(status.InvalidArg, "Expect the default model '%s' is loaded", o.DefaultModel)
	}
	return &vertex{o}, nil
}

// vertex is the frontend for Vertex AI: one path for predictions, which a header may redirect to other
// calls of the KServe API, and one for health.
type vertex struct{ VertexOptions }

// Serve answers a request.
func (h *vertex) Serve(x *http1.Exchange) {
	switch x.Path {
	case h.HealthRoute:
		h.forward(x, x.Method, "/v2/health/ready")
	case h.PredictRoute:
		target, ok := x.Lookup(redirectHeader)
		if !ok {
			h.forward(x, x.Method, "/v2/models/"+url.PathEscape(h.DefaultModel)+"/infer")
			return
		}
		h.redirect(x, "/"+target)
	default:
		empty(x, http.StatusBadRequest)
	}
}

// The calls that a prediction may be redirected to.
var (
	vertexReads = regexp.MustCompile(`^/v2(/health/(live|ready)|/models/stats|/models/[^/]+(/versions/[0-9]+)?(/(ready|config|stats))?|` +
		`/(system|cuda)sharedmemory(/region/[^/]+)?/status)?$`)
	vertexWrites  = regexp.MustCompile(`^/v2(/models/[^/]+(/versions/[0-9]+)?/infer|/repository(/[^/]+)?/index)$`)
	vertexRefused = regexp.MustCompile(`^/v2(/(system|cuda)sharedmemory(/region/[^/]+)?/(un)?register|/repository(/[^/]+)?/models/[^/]+/(un)?load)$`)
)

// redirect runs another call with the method that the call expects, since the platform
// sends only POST.
func (h *vertex) redirect(x *http1.Exchange, path string) {
	switch {
	case x.Method != http.MethodPost:
		empty(x, http.StatusMethodNotAllowed)
	case path == "/metrics" && h.Metrics != nil:
		x.Method, x.Path = http.MethodGet, path
		h.Metrics.Serve(x)
	case vertexReads.MatchString(path):
		h.forward(x, http.MethodGet, path)
	case vertexWrites.MatchString(path):
		h.forward(x, http.MethodPost, path)
	case vertexRefused.MatchString(path):
		empty(x, http.StatusForbidden)
	default:
		empty(x, http.StatusBadRequest)
	}
}

// forward lets the KServe API answer the request, with its usual framing.
func (h *vertex) forward(x *http1.Exchange, method, path string) {
	err := redirect(x, method, path)
	if err == nil && strings.HasSuffix(path, "/infer") {
		err = vertexFraming.Request(x)
	}
	if err != nil {
		refuse(x, status.From(err).Code.HTTP(), err)
		return
	}
	h.HTTP.Serve(x)
}
