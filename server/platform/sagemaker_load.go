package platform

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"triton/pkg/status"
	"triton/pkg/tritonjson"
	"triton/server/http1"
	"triton/server/infer"
	"triton/server/memory"
)

// unloadTimeout is how long an unload waits for requests in flight; the platform gives up 10 s
// later.
const unloadTimeout = 350 * time.Second

// unloadPoll is how often an unload checks whether it is done.
const unloadPoll = 500 * time.Millisecond

// loadRequest is a load that the platform requests.
type loadRequest struct{ name, url, target string }

func (h *sageMaker) load(x *http1.Exchange) {
	held := h.Memory.NewCharge(memory.Messages)
	defer held.End()
	o, err := h.readLoadRequest(x, &held)
	if e := status.From(err); e != nil {
		code := http.StatusBadRequest
		if memory.Exhausted(err) {
			code = e.Code.HTTP()
			x.Extra = append(x.Extra, http1.Field{Name: "Retry-After", Value: strconv.FormatInt(e.RetrySeconds(), 10)})
		}
		refuse(x, code, err)
		return
	}
	if h.Repositories == nil {
		refuse(x, http.StatusBadRequest, errNoRepositories())
		return
	}
	h.Log.Info("Loading SageMaker TargetModel: " + o.target)
	repository, folder, err := h.locate(o.url)
	if err == nil {
		err = h.Repositories.Register(repository, map[string]string{folder: o.target})
	}
	if err != nil {
		refuse(x, conflictCode(err), err)
		return
	}
	x.Watch()
	err = h.svc.Load(x.Context, o.target, infer.LoadOptions{})
	x.Unwatch()
	if err != nil {
		if e := h.Repositories.Unregister(repository); e != nil {
			h.Log.Error("a model repository stays registered", "path", repository, "error", e)
		}
		refuse(x, conflictCode(err), err)
		return
	}
	h.mu.Lock()
	h.mu.models[o.name] = loadedModel{repository, o.target}
	h.mu.Unlock()
	empty(x, http.StatusOK)
}

// conflictCode returns the status of a failed load.
func conflictCode(err error) int {
	e := status.From(err)
	if e.Code == status.AlreadyExists {
		return http.StatusConflict
	}
	return failureCode(e.Msg)
}

// maxLoad bounds the body of a load, which holds two texts, in bytes.
const maxLoad = 1 << 20

// readLoadRequest reads {"model_name": ..., "url": ...}, after it has counted the memory.
func (h *sageMaker) readLoadRequest(x *http1.Exchange, held *memory.Charge) (o loadRequest, err error) {
	length := x.Length
	if length < 0 {
		length = maxLoad
	}
	if length > maxLoad {
		return o, status.New(status.InvalidArg, "the request body of %d bytes exceeds the maximum of %d bytes", length, maxLoad)
	}
	// It does not arrive in the part of the memory for small requests, which slow bodies would fill.
	if err := held.Expect(memory.Small + 1); err != nil {
		return o, err
	}
	if err := held.Take(3 * int(length)); err != nil { // it is read into memory that grows, and two texts are copied
		return o, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, io.NopCloser(x.Body), maxLoad))
	if err != nil {
		return o, status.New(status.InvalidArg, "reading the request: %w", err)
	}
	if len(body) > 0 {
		object, err := tritonjson.ParseObject(body)
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
	if o.target = x.Get(targetModel); o.target == "" {
		o.target = o.name
	}
	return o, nil
}

var ensemblePlatform = regexp.MustCompile(`platform:\s*"ensemble"`)

// locate finds the repository and the model's folder in it. The folder that the platform has
// unpacked is the model itself, or it contains the model's folder, or several folders of which
// one is an ensemble of the others.
func (h *sageMaker) locate(where string) (repository, folder string, err error) {
	path, err := filepath.Abs(where)
	if err != nil || where == "" {
		return "", "", h.invalidURL(where)
	}
	rest, ok := strings.CutPrefix(path, h.Root+"/")
	parts := strings.Split(rest, "/")
	if !ok || len(parts) < 2 || len(parts) > 3 || parts[1] != "model" || !plainName(parts[0]) || !plainName(parts[len(parts)-1]) {
		return "", "", h.invalidURL(where)
	}
	if _, err := os.Stat(filepath.Join(path, "config.pbtxt")); err == nil {
		return filepath.Join(h.Root, parts[0]), "model", nil
	}
	return path, modelFolder(path), nil
}

func (h *sageMaker) invalidURL(where string) error {
	return status.New(status.InvalidArg, "Invalid \"url\" '%s': expected a path of the form %s/<hash>/model[/<subdir>]", where, h.Root)
}

// plainName reports whether the platform uses names like this part of a path.
func plainName(part string) bool {
	return part != "" && strings.Trim(part, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._") == ""
}

// modelFolder returns the folder of an ensemble, else the last one.
func modelFolder(path string) string {
	entries, _ := os.ReadDir(path) // the load reports what is missing
	last := ""
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		last = e.Name()
		config, err := os.ReadFile(filepath.Join(path, last, "config.pbtxt"))
		if err == nil && ensemblePlatform.Match(bytes.TrimSpace(config)) {
			return last
		}
	}
	return last
}

func (h *sageMaker) unload(x *http1.Exchange, name string) {
	m, ok := h.find(name)
	if !ok {
		empty(x, http.StatusNotFound)
		return
	}
	model := targetOf(x, m)
	h.Log.Info("Unloading SageMaker TargetModel: " + model)
	// The steps of an ensemble are unloaded too.
	if err := h.svc.Unload(x.Context, model, true); err != nil {
		refuse(x, http.StatusBadRequest, err)
		return
	}
	if !h.awaitUnload(x.Context, model) {
		h.Log.Error("Error: UNLOAD did not complete within expected 350 seconds. This may result in SageMaker UNLOAD timeout.")
	}
	h.mu.Lock()
	delete(h.mu.models, name)
	h.mu.Unlock()
	if err := h.Repositories.Unregister(m.repository); err != nil {
		refuse(x, http.StatusBadRequest, err)
		return
	}
	empty(x, http.StatusOK)
}

// awaitUnload waits until no version of a model serves. It reports false after the timeout.
func (h *sageMaker) awaitUnload(ctx context.Context, model string) bool {
	ctx, cancel := context.WithTimeout(ctx, h.unloadTimeout)
	defer cancel()
	tick := time.NewTicker(unloadPoll)
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

func (h *sageMaker) present(model string) bool {
	for _, m := range h.svc.Index(false).GetModels() {
		if m.GetName() == model && (m.GetState() != "UNAVAILABLE" || m.GetReason() != "unloaded") {
			return true
		}
	}
	return false
}
