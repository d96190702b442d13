// Package platform has the frontends for cloud platforms, Amazon SageMaker and Vertex AI. They
// translate the paths, headers and content types of a platform to calls of the KServe API, which
// answers them.
package platform

import (
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"triton/pkg/status"
	"triton/pkg/tritonjson"
	"triton/server/access"
	"triton/server/frontend"
	"triton/server/http1"
	"triton/server/infer"
	"triton/server/memory"
)

const sageMakerFraming framing = "application/vnd.sagemaker-triton.binary+json;json-header-size="

// targetModel is the header that names the model in the server.
const targetModel = "x-amzn-sagemaker-target-model"

// Repositories are the model repositories of the server.
type Repositories interface {
	// Register adds a repository. The keys of names are folders, the values the models in
	// them. A known repository or a taken name is status.AlreadyExists.
	Register(path string, names map[string]string) error
	Unregister(path string) error
}

// SageMakerOptions are the settings of the frontend for Amazon SageMaker.
type SageMakerOptions struct {
	// HTTP is the KServe API.
	HTTP http1.Handler
	// Repositories is nil if models cannot be added.
	Repositories Repositories
	// Root is the folder of the platform's models; empty: "/opt/ml/models".
	Root string
	// DefaultModel is the model of /invocations.
	DefaultModel string
	// PingMode is the health call of /ping: "ready", the default, or "live".
	PingMode string
	// InferenceType is the call of /invocations: "infer", the default, "generate" or
	// "generate_stream".
	InferenceType string
	// Restricted says which calls need a secret header.
	Restricted frontend.Restrictions
	// Guard decides who may do what; nil: everybody may do everything.
	Guard *access.Guard
	// RefuseControl refuses the calls that a port for control serves.
	RefuseControl bool
	// Memory is the memory for requests; nil has no limit.
	Memory *memory.Budget
	Log    *slog.Logger
}

// NewSageMaker returns the frontend for Amazon SageMaker. It starts nothing.
func NewSageMaker(svc infer.Service, o SageMakerOptions) (http1.Handler, error) {
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
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	h := &sageMaker{SageMakerOptions: o, svc: svc, unloadTimeout: unloadTimeout}
	h.mu.models = map[string]loadedModel{}
	return h, nil
}

// sageMaker is the frontend for Amazon SageMaker: health, inference with one model, and the calls of
// multi-model endpoints, which load and unload models that the platform writes to the disk.
type sageMaker struct {
	SageMakerOptions
	svc           infer.Service
	unloadTimeout time.Duration
	mu            struct {
		sync.Mutex
		models map[string]loadedModel // by the platform's name
	}
}

// loadedModel is a model that the platform has loaded.
type loadedModel struct {
	repository string
	target     string // its name in the server
}

// Serve answers a request.
func (h *sageMaker) Serve(x *http1.Exchange) {
	switch x.Path {
	case "/ping":
		mode := "ready"
		if h.PingMode == "live" {
			mode = "live"
		}
		h.forward(x, "/v2/health/"+mode, sageMakerFraming.Reply)
	case "/invocations":
		h.forward(x, "/v2/models/"+url.PathEscape(h.DefaultModel)+"/"+h.InferenceType, sageMakerFraming.Reply)
	default:
		name, invoke, ok := parseModelPath(x.Path)
		if !ok {
			empty(x, http.StatusBadRequest)
			return
		}
		h.models(x, name, invoke)
	}
}

// parseModelPath reads "/models[/<name>][/invoke]".
func parseModelPath(path string) (name string, invoke, ok bool) {
	rest, ok := strings.CutPrefix(path, "/models")
	if rest, invoke = strings.CutSuffix(rest, "/invoke"); invoke && rest == "" {
		return "invoke", false, ok // a model named "invoke"
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

// forward lets the KServe API answer the request; before changes the reply before it is sent.
func (h *sageMaker) forward(x *http1.Exchange, path string, before func(*http1.Exchange)) {
	x.BeforeSend = before
	err := redirect(x, x.Method, path)
	if err == nil {
		err = sageMakerFraming.Request(x)
	}
	if err != nil {
		refuse(x, http.StatusBadRequest, err)
		return
	}
	h.HTTP.Serve(x)
}

// refuse answers with an error.
func refuse(x *http1.Exchange, code int, err error) {
	x.Text = append(tritonjson.AppendString(append(x.Text[:0], `{"error":`...), status.From(err).Msg), '}')
	reply(x, code)
}

// reply sends Text, which is JSON.
func reply(x *http1.Exchange, code int) {
	x.Status, x.ContentType = code, http1.JSON
	x.Send()
}

// empty answers without a body.
func empty(x *http1.Exchange, code int) {
	x.Status, x.ContentType = code, ""
	x.Send()
}
