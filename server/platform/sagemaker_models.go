package platform

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"triton/pkg/status"
	"triton/pkg/tritonjson"
	"triton/server/frontend"
	"triton/server/http1"
)

// models answers the calls of multi-model endpoints.
func (h *sageMaker) models(x *http1.Exchange, name string, invoke bool) {
	if x.Method == http.MethodPost && invoke {
		h.invoke(x, name)
		return
	}
	entry, ok := h.admit(x)
	if !ok {
		return
	}
	defer func() { entry.End(strconv.Itoa(x.Status), "") }()
	if need := h.Restricted.Needs(frontend.ModelRepositoryCalls); need != nil && !need.Allows(x.Get(strings.ToLower(need.Name))) {
		refuse(x, http.StatusForbidden, fmt.Errorf("This API is restricted, expecting header '%s'", need.Name)) //nolint:staticcheck // Triton's text
		return
	}
	switch {
	case x.Method == http.MethodGet && name == "":
		h.list(x)
	case x.Method == http.MethodGet:
		h.show(x, name)
	case x.Method == http.MethodPost:
		h.load(x)
	case x.Method == http.MethodDelete:
		h.unload(x, name)
	default:
		empty(x, http.StatusBadRequest)
	}
}

func (h *sageMaker) find(name string) (loadedModel, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m, ok := h.mu.models[name]
	return m, ok
}

// targetOf returns the server's name of a model: the header of the request, else the name
// when the platform loaded the model.
func targetOf(x *http1.Exchange, m loadedModel) string {
	if name := x.Get(targetModel); name != "" {
		return name
	}
	return m.target
}

// list answers with the ready models.
func (h *sageMaker) list(x *http1.Exchange) {
	h.mu.Lock()
	all := maps.Clone(h.mu.models)
	h.mu.Unlock()
	text := append(x.Text[:0], `{"models":[`...)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if ready, err := h.svc.ModelReady(all[name].target, ""); err != nil || !ready {
			continue
		}
		if text[len(text)-1] != '[' {
			text = append(text, ',')
		}
		text = appendModel(text, name, all[name])
	}
	x.Text = append(text, "]}"...)
	reply(x, http.StatusOK)
}

func (h *sageMaker) show(x *http1.Exchange, name string) {
	m, ok := h.find(name)
	if !ok {
		empty(x, http.StatusNotFound)
		return
	}
	x.Text = appendModel(x.Text[:0], name, m)
	reply(x, http.StatusOK)
}

func appendModel(b []byte, name string, m loadedModel) []byte {
	b = tritonjson.AppendString(append(b, `{"modelName":`...), name)
	b = tritonjson.AppendString(append(b, `,"modelUrl":`...), m.repository)
	return append(b, '}')
}

// invoke runs an inference with a model that was loaded.
func (h *sageMaker) invoke(x *http1.Exchange, name string) {
	m, ok := h.find(name)
	if !ok {
		if h.admitUnknown(x, name) {
			empty(x, http.StatusNotFound)
		}
		return
	}
	if !h.checkKnown(x, m) {
		return
	}
	to := targetOf(x, m)
	h.Log.Info("Invoking SageMaker TargetModel: " + to)
	h.forward(x, "/v2/models/"+url.PathEscape(to)+"/infer", replyInvoke)
}

// errNoRepositories returns the error of a server to which no models can be added.
func errNoRepositories() error {
	return status.New(status.Unsupported, "model repositories cannot be added to this server")
}
