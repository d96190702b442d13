// Package sagemaker is the front end for Amazon SageMaker: health, inference with
// one model, and the calls of multi-model endpoints, which load and unload models
// that the platform puts on disk. The calls themselves are the HTTP front end's.
package sagemaker

import (
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"triton/pkg/kserve/rest"
	"triton/pkg/status"
	"triton/server/infer"
	"triton/server/mimeframe"
	"triton/server/restricted"
)

const binary mimeframe.Type = "application/vnd.sagemaker-triton.binary+json;json-header-size="

const targetModel = "X-Amzn-SageMaker-Target-Model"

// Repositories are the model repositories of the server.
type Repositories interface {
	// Register adds a repository. Names are what models are called, by the
	// folder that they lie in. A repository that is known, or a name that is
	// taken, is status.AlreadyExists.
	Register(path string, names map[string]string) error
	Unregister(path string) error
}

// Options are the settings of the front end.
type Options struct {
	// HTTP is the front end that answers the calls.
	HTTP http.Handler
	// Repositories is nil where models cannot be added.
	Repositories Repositories
	// Root is where the platform puts models: "/opt/ml/models" when empty.
	Root string
	// DefaultModel answers /invocations.
	DefaultModel string
	// PingMode is what /ping asks: "ready", also when empty, or "live".
	PingMode string
	// InferenceType is what /invocations does: "infer", also when empty,
	// "generate" or "generate_stream".
	InferenceType string
	// Restricted says which calls need a secret header.
	Restricted restricted.Rules
	// MaxInput bounds the body of a load, in bytes; 0 is 1 MiB.
	MaxInput int64
	Log      *slog.Logger
}

// New makes the front end. It starts nothing.
func New(svc infer.Service, o Options) (http.Handler, error) {
	if o.InferenceType == "" {
		o.InferenceType = "infer"
	}
	switch o.InferenceType {
	case "infer", "generate", "generate_stream":
	default:
		return nil, status.New(status.Internal,
			"Server has invalid inference type '%s'. Must be one of: infer, generate, generate_stream.", o.InferenceType)
	}
	if o.Root == "" {
		o.Root = "/opt/ml/models"
	}
	if o.DefaultModel == "" {
		o.DefaultModel = "unspecified_SAGEMAKER_TRITON_DEFAULT_MODEL_NAME"
	}
	if o.MaxInput == 0 {
		o.MaxInput = 1 << 20
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	h := &handler{Options: o, svc: svc, patience: unloadTimeout}
	h.mu.models = map[string]loaded{}
	return h, nil
}

type handler struct {
	Options
	svc      infer.Service
	patience time.Duration // of an unload
	mu       struct {
		sync.Mutex
		models map[string]loaded // by the platform's name
	}
}

// loaded is a model that the platform has loaded.
type loaded struct {
	repository string
	target     string // its name in the server
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.EscapedPath(); path {
	case "/ping":
		mode := "ready"
		if h.PingMode == "live" {
			mode = "live"
		}
		h.pass(w, r, "/v2/health/"+mode)
	case "/invocations":
		h.pass(w, r, "/v2/models/"+url.PathEscape(h.DefaultModel)+"/"+h.InferenceType)
	default:
		name, invoke, ok := model(path)
		if !ok {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		h.models(w, r, name, invoke)
	}
}

// model reads "/models[/<name>][/invoke]".
func model(path string) (name string, invoke, ok bool) {
	rest, ok := strings.CutPrefix(path, "/models")
	if rest, invoke = strings.CutSuffix(rest, "/invoke"); invoke && rest == "" {
		return "invoke", false, ok // a model of that name
	}
	switch {
	case rest == "" || rest == "/":
		return "", invoke, ok
	case rest[0] != '/' || strings.Contains(rest[1:], "/"):
		return "", false, false
	}
	name, err := url.PathUnescape(rest[1:])
	return name, invoke, ok && err == nil
}

// pass has the HTTP front end answer.
func (h *handler) pass(w http.ResponseWriter, r *http.Request, path string) {
	to, err := mimeframe.To(r, r.Method, path)
	if err == nil {
		to, err = binary.Request(to)
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	h.HTTP.ServeHTTP(binary.Writer(w), to)
}

// refuse answers with an error. All are the client's to this platform, but for
// those that say that memory ran out.
func refuse(w http.ResponseWriter, code int, err error) {
	reply(w, code, append(rest.AppendString([]byte(`{"error":`), status.From(err).Msg), '}'))
}

func reply(w http.ResponseWriter, code int, text []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(text)
}
