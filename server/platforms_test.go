package server_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server"
	"triton/server/repository"
	"triton/server/servertest"
)

const answer = `"outputs":[{"name":"OUTPUT0","datatype":"INT32","shape":[1,4],"data":[1,2,3,4]}]`

// TestPlatforms sends requests to the frontends of both platforms of a whole server.
func TestPlatforms(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.Model("m", servertest.Identity("INT32", "4", 8)), servertest.With(func(o *server.Options) {
		o.HTTP.Allow, o.GRPC.Allow = false, false
		o.HTTP.Forward = regexp.MustCompile("^timeout$")
		o.SageMaker.Allow, o.SageMaker.DefaultModel = true, "m"
		o.Vertex.Allow, o.Vertex.PredictRoute, o.Vertex.HealthRoute = true, "/predict", "/health"
	}))
	c := newClient(t)
	for _, url := range []string{"http://" + s.SageMaker + "/invocations", "http://" + s.Vertex + "/predict"} {
		code, text, err := post(c, url, body)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, code)
		require.Contains(t, text, answer)
	}
	for _, url := range []string{"http://" + s.SageMaker + "/ping", "http://" + s.Vertex + "/health"} {
		code, text := get(t, c, url)
		require.Equal(t, http.StatusOK, code)
		require.Empty(t, text)
	}

	// Headers are forwarded as on the KServe API, which refuses reserved names.
	for _, url := range []string{"http://" + s.SageMaker + "/invocations", "http://" + s.Vertex + "/predict"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
		require.NoError(t, err)
		r.Header["timeout"] = []string{"3"}
		resp, err := c.Do(r)
		require.NoError(t, err)
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusBadRequest, resp.StatusCode)
		require.Contains(t, string(text), "Header 'timeout' is reserved for Triton usage and cannot be forwarded.")
	}

	// The data follows the JSON in both directions.
	const head = `{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,4],"parameters":{"binary_data_size":16}}],"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":true}}]}`
	data := strings.Repeat("\x01\x00\x00\x00", 4)
	const kind = "application/vnd.sagemaker-triton.binary+json;json-header-size="
	resp, err := c.Post("http://"+s.SageMaker+"/invocations", kind+strconv.Itoa(len(head)), strings.NewReader(head+data))
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Regexp(t, `^application/vnd\.sagemaker-triton\.binary\+json;json-header-size=\d+$`, resp.Header.Get("Content-Type"))

	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.Vertex+"/predict", nil)
	require.NoError(t, err)
	r.Header.Set("X-Vertex-Ai-Triton-Redirect", "metrics")
	page, err := c.Do(r)
	require.NoError(t, err)
	defer page.Body.Close()
	require.Equal(t, http.StatusOK, page.StatusCode)
	require.Equal(t, "text/plain; charset=utf-8", page.Header.Get("Content-Type"))
}

// TestSageMakerModels loads a model that the platform has unpacked, runs it and unloads it, twice.
func TestSageMakerModels(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	folder := filepath.Join(root, "hash", "model", "folder")
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "1"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "config.pbtxt"), []byte("name: \"folder\"\n"+servertest.Identity("INT32", "4", 8)), 0o644))
	s := servertest.Start(t, servertest.With(func(o *server.Options) {
		o.HTTP.Allow, o.GRPC.Allow, o.Metrics.Allow = false, false, false
		o.Models.Control, o.Models.Namespacing = repository.ControlExplicit, true
		o.SageMaker.Allow, o.SageMaker.Root = true, root
	}))
	c := newClient(t)
	models := "http://" + s.SageMaker + "/models"
	order := fmt.Sprintf(`{"model_name":"x","url":"%s/hash/model"}`, root)
	for range 2 {
		code, text, err := post(c, models, order)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, code, text)
		code, text, err = post(c, models, order)
		require.NoError(t, err)
		require.Equal(t, http.StatusConflict, code, text)
		_, text = get(t, c, models)
		require.Equal(t, fmt.Sprintf(`{"models":[{"modelName":"x","modelUrl":"%s/hash/model"}]}`, root), text)
		code, text, err = post(c, models+"/x/invoke", body)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, code, text)
		require.Contains(t, text, `"model_name":"x"`)
		code, _, err = post(c, models+"/x/invoke", "{}")
		require.NoError(t, err)
		require.Equal(t, http.StatusBadRequest, code)

		r, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, models+"/x", nil)
		require.NoError(t, err)
		resp, err := c.Do(r)
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, http.StatusOK, resp.StatusCode)
		_, text = get(t, c, models)
		require.Equal(t, `{"models":[]}`, text)
	}
}

func TestCloudRefused(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*server.Options){
		"failed to start Vertex AI service: Invalid argument - API_PREDICT_ROUTE is not defined for Vertex AI endpoint": func(o *server.Options) {
			o.Vertex.Allow = true
		},
		"failed to start Sagemaker service: Internal - Server has invalid inference type 'x'. Must be one of: infer, generate, generate_stream.": func(o *server.Options) {
			o.SageMaker.Allow, o.SageMaker.InferenceType = true, "x"
		},
		"The server cannot listen to HTTP requests at port 1, allowed port range is [2, 3]": func(o *server.Options) {
			o.SageMaker.Allow, o.SageMaker.SafePorts, o.SageMaker.Port, o.HTTP.Port = true, &[2]int{2, 3}, 2, 1
		},
		"The server cannot listen to SageMaker requests and Vertex AI requests at the same address and port 127.0.0.1:4": func(o *server.Options) {
			o.SageMaker.Allow, o.Vertex.Allow, o.SageMaker.Port, o.Vertex.Port = true, true, 4, 4
		},
	} {
		_, err := servertest.Try(t, servertest.With(change))
		require.EqualError(t, err, want)
	}
}
