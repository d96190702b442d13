package sagemaker

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"triton/pkg/kserve/rest"
	"triton/pkg/status"
	"triton/server/restricted"
)

// models answers the calls of multi-model endpoints.
func (h *handler) models(w http.ResponseWriter, r *http.Request, name string, invoke bool) {
	if r.Method == http.MethodPost && invoke {
		h.invoke(w, r, name)
		return
	}
	if need := h.Restricted.Needs(restricted.ModelRepository); need != nil && !need.Allows(r.Header.Get(need.Name)) {
		refuse(w, http.StatusForbidden, fmt.Errorf("This API is restricted, expecting header '%s'", need.Name)) //nolint:staticcheck // Triton's text
		return
	}
	switch {
	case r.Method == http.MethodGet && name == "":
		h.list(w)
	case r.Method == http.MethodGet:
		h.show(w, name)
	case r.Method == http.MethodPost:
		h.load(w, r)
	case r.Method == http.MethodDelete:
		h.unload(w, r, name)
	default:
		w.WriteHeader(http.StatusBadRequest)
	}
}

func (h *handler) find(name string) (loaded, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m, ok := h.mu.models[name]
	return m, ok
}

// target is the server's name of a model: the platform sends it along, and did
// so when it loaded the model.
func target(r *http.Request, m loaded) string {
	if name := r.Header.Get(targetModel); name != "" {
		return name
	}
	return m.target
}

// list names the models that are ready.
func (h *handler) list(w http.ResponseWriter) {
	h.mu.Lock()
	all := maps.Clone(h.mu.models)
	h.mu.Unlock()
	text := []byte(`{"models":[`)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if ready, err := h.svc.ModelReady(all[name].target, ""); err != nil || !ready {
			continue
		}
		if text[len(text)-1] != '[' {
			text = append(text, ',')
		}
		text = appendModel(text, name, all[name])
	}
	reply(w, http.StatusOK, append(text, "]}"...))
}

func (h *handler) show(w http.ResponseWriter, name string) {
	m, ok := h.find(name)
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	reply(w, http.StatusOK, appendModel(nil, name, m))
}

func appendModel(b []byte, name string, m loaded) []byte {
	b = rest.AppendString(append(b, `{"modelName":`...), name)
	b = rest.AppendString(append(b, `,"modelUrl":`...), m.repository)
	return append(b, '}')
}

// invoke is an inference with a model that was loaded.
func (h *handler) invoke(w http.ResponseWriter, r *http.Request, name string) {
	m, ok := h.find(name)
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	to := target(r, m)
	h.Log.Info("Invoking SageMaker TargetModel: " + to)
	failing := &failures{ResponseWriter: w}
	h.pass(failing, r, "/v2/models/"+url.PathEscape(to)+"/infer")
	failing.end()
}

// unknownRepositories is the answer where models cannot be added.
func unknownRepositories() error {
	return status.New(status.Unsupported, "model repositories cannot be added to this server")
}
