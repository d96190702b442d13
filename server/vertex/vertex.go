// Package vertex is the front end for Vertex AI: one path for predictions, which
// may be redirected to other calls of the protocol, and one for health. The calls
// themselves are the HTTP front end's.
package vertex

import (
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"triton/pkg/kserve/rest"
	"triton/pkg/status"
	"triton/server/infer"
	"triton/server/mimeframe"
)

const binary mimeframe.Type = "application/vnd.vertex-ai-triton.binary+json;json-header-size="

const redirect = "X-Vertex-Ai-Triton-Redirect"

// Options are the settings of the front end.
type Options struct {
	// HTTP is the front end that answers the calls, Metrics the metrics endpoint;
	// without metrics it is nil.
	HTTP, Metrics http.Handler
	// PredictRoute and HealthRoute are the paths that the platform chose:
	// AIP_PREDICT_ROUTE and AIP_HEALTH_ROUTE.
	PredictRoute, HealthRoute string
	// DefaultModel answers predictions that are not redirected. It may be empty
	// when one model is ready.
	DefaultModel string
}

// New checks the options against the models that are ready.
func New(svc infer.Service, o Options) (http.Handler, error) {
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
	return &handler{o}, nil
}

type handler struct{ Options }

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.EscapedPath() {
	case h.HealthRoute:
		h.pass(w, r, r.Method, "/v2/health/ready")
	case h.PredictRoute:
		target, ok := r.Header[redirect]
		if !ok {
			h.pass(w, r, r.Method, "/v2/models/"+url.PathEscape(h.DefaultModel)+"/infer")
			return
		}
		h.redirect(w, r, "/"+target[0])
	default:
		w.WriteHeader(http.StatusBadRequest)
	}
}

// The calls that a prediction may be redirected to.
var (
	reads = regexp.MustCompile(`^/v2(/health/(live|ready)|/models/stats|/models/[^/]+(/versions/[0-9]+)?(/(ready|config|stats))?|` +
		`/(system|cuda)sharedmemory(/region/[^/]+)?/status)?$`)
	writes  = regexp.MustCompile(`^/v2(/models/[^/]+(/versions/[0-9]+)?/infer|/repository(/[^/]+)?/index)$`)
	refused = regexp.MustCompile(`^/v2(/(system|cuda)sharedmemory(/region/[^/]+)?/(un)?register|/repository(/[^/]+)?/models/[^/]+/(un)?load)$`)
)

// redirect runs another call. The platform knows POST only; the call gets the
// method that it wants.
func (h *handler) redirect(w http.ResponseWriter, r *http.Request, path string) {
	switch {
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case path == "/metrics" && h.Metrics != nil:
		if r, err := mimeframe.To(r, http.MethodGet, path); err == nil {
			h.Metrics.ServeHTTP(w, r)
		}
	case reads.MatchString(path):
		h.pass(w, r, http.MethodGet, path)
	case writes.MatchString(path):
		h.pass(w, r, http.MethodPost, path)
	case refused.MatchString(path):
		w.WriteHeader(http.StatusForbidden)
	default:
		w.WriteHeader(http.StatusBadRequest)
	}
}

// pass has the HTTP front end answer.
func (h *handler) pass(w http.ResponseWriter, r *http.Request, method, path string) {
	to, err := mimeframe.To(r, method, path)
	if err == nil && strings.HasSuffix(path, "/infer") {
		to, err = binary.Request(to)
	}
	if err != nil {
		e := status.From(err)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(e.Code.HTTP())
		_, _ = w.Write(append(rest.AppendString([]byte(`{"error":`), e.Msg), '}'))
		return
	}
	h.HTTP.ServeHTTP(w, to) // responses are framed as ever
}
