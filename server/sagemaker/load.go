package sagemaker

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"triton/pkg/kserve/rest"
	"triton/pkg/status"
	"triton/server/infer"
)

// unloadTimeout is how long an unload waits for requests in flight; the platform
// gives up 10 s later.
const unloadTimeout = 350 * time.Second

// unloadLook is how often an unload looks whether it is done.
const unloadLook = 500 * time.Millisecond

// order is a load that the platform asks for.
type order struct{ name, url, target string }

func (h *handler) load(w http.ResponseWriter, r *http.Request) {
	o, err := h.order(w, r)
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	if h.Repositories == nil {
		refuse(w, http.StatusBadRequest, unknownRepositories())
		return
	}
	h.Log.Info("Loading SageMaker TargetModel: " + o.target)
	repository, folder, err := h.place(o.url)
	if err == nil {
		err = h.Repositories.Register(repository, map[string]string{folder: o.target})
	}
	if err != nil {
		refuse(w, conflict(err), err)
		return
	}
	if err := h.svc.Load(r.Context(), o.target, infer.LoadOptions{}); err != nil {
		if e := h.Repositories.Unregister(repository); e != nil {
			h.Log.Error("a model repository stays registered", "path", repository, "error", e)
		}
		refuse(w, conflict(err), err)
		return
	}
	h.mu.Lock()
	h.mu.models[o.name] = loaded{repository, o.target}
	h.mu.Unlock()
	w.WriteHeader(http.StatusOK)
}

// conflict is the status of a failed load.
func conflict(err error) int {
	e := status.From(err)
	if e.Code == status.AlreadyExists {
		return http.StatusConflict
	}
	return failureCode(e.Msg)
}

// order reads a load: {"model_name": ..., "url": ...}.
func (h *handler) order(w http.ResponseWriter, r *http.Request) (o order, err error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.MaxInput))
	if err != nil {
		return o, status.New(status.InvalidArg, "reading the request: %w", err)
	}
	if len(body) > 0 {
		object, err := rest.ParseObject(body)
		if err != nil {
			return o, err
		}
		for name, to := range map[string]*string{"model_name": &o.name, "url": &o.url} {
			if v, ok := object.Get(name); ok {
				if *to, err = v.String(); err != nil {
					return o, err
				}
			}
		}
	}
	if o.target = r.Header.Get(targetModel); o.target == "" {
		o.target = o.name
	}
	return o, nil
}

var ensemble = regexp.MustCompile(`platform:\s*"ensemble"`)

// place finds the repository and the folder in it that holds the model: where
// the platform unpacked it there is the model itself, or a folder for it, or
// several of which one is the ensemble of the others.
func (h *handler) place(where string) (repository, folder string, err error) {
	path, err := filepath.Abs(where)
	if err != nil || where == "" {
		return "", "", h.misplaced(where)
	}
	rest, ok := strings.CutPrefix(path, h.Root+"/")
	parts := strings.Split(rest, "/")
	if !ok || len(parts) < 2 || len(parts) > 3 || parts[1] != "model" || !plain(parts[0]) || !plain(parts[len(parts)-1]) {
		return "", "", h.misplaced(where)
	}
	if _, err := os.Stat(filepath.Join(path, "config.pbtxt")); err == nil {
		return filepath.Join(h.Root, parts[0]), "model", nil
	}
	return path, modelFolder(path), nil
}

func (h *handler) misplaced(where string) error {
	return status.New(status.InvalidArg, "Invalid \"url\" '%s': expected a path of the form %s/<hash>/model[/<subdir>]", where, h.Root)
}

// plain says whether a part of a path is one that the platform makes.
func plain(part string) bool {
	return part != "" && strings.Trim(part, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._") == ""
}

// modelFolder is the folder of an ensemble, else the last one.
func modelFolder(path string) string {
	entries, _ := os.ReadDir(path) // without folders the load finds nothing
	last := ""
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		last = e.Name()
		config, err := os.ReadFile(filepath.Join(path, last, "config.pbtxt"))
		if err == nil && ensemble.Match(bytes.TrimSpace(config)) {
			return last
		}
	}
	return last
}

func (h *handler) unload(w http.ResponseWriter, r *http.Request, name string) {
	m, ok := h.find(name)
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	model := target(r, m)
	h.Log.Info("Unloading SageMaker TargetModel: " + model)
	// The parts of an ensemble go too.
	if err := h.svc.Unload(r.Context(), model, true); err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	if !h.gone(r.Context(), model) {
		h.Log.Error("Error: UNLOAD did not complete within expected 350 seconds. This may result in SageMaker UNLOAD timeout.")
	}
	h.mu.Lock()
	delete(h.mu.models, name)
	h.mu.Unlock()
	if err := h.Repositories.Unregister(m.repository); err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	w.WriteHeader(http.StatusOK)
}

// gone waits until no version of a model serves any more.
func (h *handler) gone(ctx context.Context, model string) bool {
	ctx, cancel := context.WithTimeout(ctx, h.patience)
	defer cancel()
	tick := time.NewTicker(unloadLook)
	defer tick.Stop()
	for h.present(model) {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return true
}

func (h *handler) present(model string) bool {
	for _, m := range h.svc.Index(false).GetModels() {
		if m.GetName() == model && (m.GetState() != "UNAVAILABLE" || m.GetReason() != "unloaded") {
			return true
		}
	}
	return false
}
