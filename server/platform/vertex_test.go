package platform_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/http1"
	"triton/server/infer"
	"triton/server/platform"
)

// vertexService has these models ready.
type vertexService struct {
	infer.Service
	ready []string
}

func (s vertexService) Index(bool) *inferencepb.RepositoryIndexResponse {
	var index inferencepb.RepositoryIndexResponse
	for _, name := range s.ready {
		index.Models = append(index.Models, &inferencepb.RepositoryIndexResponse_ModelIndex{Name: name})
	}
	return &index
}

// echoName answers with the request that the KServe API would get.
func echoName(name string) http1.Handler {
	return http1.HandlerFunc(func(x *http1.Exchange) {
		body, _ := io.ReadAll(x.Body)
		x.ContentType = http1.JSON
		if x.Header.HasJSONLength {
			x.JSONSize, _ = strconv.Atoi(x.Header.JSONLength)
		}
		x.Text = fmt.Appendf(x.Text[:0], "%s %s %s %s", name, x.Method, x.Path, body)
		x.Send()
	})
}

// over returns a handler for requests of net/http.
func over(h http1.Handler) http.Handler { return http1.NewHTTPHandler(h, http1.Options{}) }

func TestNewVertex(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		o     platform.VertexOptions
		ready []string
		err   string
	}{
		{platform.VertexOptions{}, nil, "API_PREDICT_ROUTE is not defined for Vertex AI endpoint"},
		{platform.VertexOptions{PredictRoute: "/p"}, nil, "AIP_HEALTH_ROUTE is not defined for Vertex AI endpoint"},
		{platform.VertexOptions{PredictRoute: "/p", HealthRoute: "/h"}, nil, "Expect the model repository contains only a single model if default model is not specified"},
		{platform.VertexOptions{PredictRoute: "/p", HealthRoute: "/h"}, []string{"a", "b"}, "Expect the model repository contains only a single model if default model is not specified"},
		{platform.VertexOptions{PredictRoute: "/p", HealthRoute: "/h"}, []string{"a", "a"}, ""},
		{platform.VertexOptions{PredictRoute: "/p", HealthRoute: "/h", DefaultModel: "c"}, []string{"a", "b"}, "Expect the default model 'c' is loaded"},
		{platform.VertexOptions{PredictRoute: "/p", HealthRoute: "/h", DefaultModel: "b"}, []string{"a", "b"}, ""},
	} {
		_, err := platform.NewVertex(vertexService{ready: c.ready}, c.o)
		if c.err == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.err)
		}
	}
}

func TestVertexRoutes(t *testing.T) {
	t.Parallel()
	h, err := platform.NewVertex(vertexService{ready: []string{"m n"}}, platform.VertexOptions{
		HTTP: echoName("http"), Metrics: echoName("metrics"), PredictRoute: "/v1/endpoints/1:predict", HealthRoute: "/health",
	})
	require.NoError(t, err)
	const none = "\x00"
	for _, c := range []struct {
		method, path, to string
		code             int
		want             string
	}{
		{"GET", "/health", none, 200, "http GET /v2/health/ready "},
		{"POST", "/health", none, 200, "http POST /v2/health/ready "}, // which refuses it
		{"POST", "/v1/endpoints/1:predict", none, 200, "http POST /v2/models/m%20n/infer body"},
		{"GET", "/v1/endpoints/1:predict", none, 200, "http GET /v2/models/m%20n/infer body"},
		{"POST", "/elsewhere", none, 400, ""},
		{"GET", "/v1/endpoints/1:predict", "v2", 405, ""},
		{"POST", "/v1/endpoints/1:predict", "v2", 200, "http GET /v2 body"},
		{"POST", "/v1/endpoints/1:predict", "metrics", 200, "metrics GET /metrics body"},
		{"POST", "/v1/endpoints/1:predict", "v2/health/live", 200, "http GET /v2/health/live body"},
		{"POST", "/v1/endpoints/1:predict", "v2/models/stats", 200, "http GET /v2/models/stats body"},
		{"POST", "/v1/endpoints/1:predict", "v2/models/a/versions/2/infer", 200, "http POST /v2/models/a/versions/2/infer body"},
		{"POST", "/v1/endpoints/1:predict", "v2/models/a/config", 200, "http GET /v2/models/a/config body"},
		{"POST", "/v1/endpoints/1:predict", "v2/models/a", 200, "http GET /v2/models/a body"},
		{"POST", "/v1/endpoints/1:predict", "v2/models/a/generate", 400, ""},
		{"POST", "/v1/endpoints/1:predict", "v2/models/a/trace/setting", 400, ""},
		{"POST", "/v1/endpoints/1:predict", "v2/logging", 400, ""},
		{"POST", "/v1/endpoints/1:predict", "v2/systemsharedmemory/status", 200, "http GET /v2/systemsharedmemory/status body"},
		{"POST", "/v1/endpoints/1:predict", "v2/cudasharedmemory/region/r/status", 200, "http GET /v2/cudasharedmemory/region/r/status body"},
		{"POST", "/v1/endpoints/1:predict", "v2/systemsharedmemory/region/r/register", 403, ""},
		{"POST", "/v1/endpoints/1:predict", "v2/cudasharedmemory/unregister", 403, ""},
		{"POST", "/v1/endpoints/1:predict", "v2/repository/index", 200, "http POST /v2/repository/index body"},
		{"POST", "/v1/endpoints/1:predict", "v2/repository/models/a/load", 403, ""},
		{"POST", "/v1/endpoints/1:predict", "v2/repository/models/a/unload", 403, ""},
		{"POST", "/v1/endpoints/1:predict", "", 400, ""},
		{"POST", "/v1/endpoints/1:predict", "v2/models/%zz/infer", 400, `{"error":"invalid path '/v2/models/%zz/infer'"}`},
	} {
		r := httptest.NewRequest(c.method, c.path, strings.NewReader("body"))
		if c.to != none {
			r.Header.Set("X-Vertex-Ai-Triton-Redirect", c.to)
		}
		w := httptest.NewRecorder()
		over(h).ServeHTTP(w, r)
		require.Equal(t, c.code, w.Code, "%s %s", c.path, c.to)
		require.Equal(t, strings.TrimSuffix(c.want, "body"), strings.TrimSuffix(w.Body.String(), "body"), "%s %s", c.path, c.to)
	}
}

func TestVertexBinary(t *testing.T) {
	t.Parallel()
	h, err := platform.NewVertex(vertexService{ready: []string{"m"}}, platform.VertexOptions{HTTP: echoName("http"), PredictRoute: "/p", HealthRoute: "/h"})
	require.NoError(t, err)
	const kind = "application/vnd.vertex-ai-triton.binary+json;json-header-size="
	for _, c := range []struct {
		size, length string
		code         int
	}{
		{"2", "2", 200},
		{"x", "", 400},
		{"-1", "", 400},
		{"5", "", 400},
	} {
		r := httptest.NewRequest(http.MethodPost, "/p", strings.NewReader("{}12"))
		r.Header.Set("Content-Type", kind+c.size)
		w := httptest.NewRecorder()
		over(h).ServeHTTP(w, r)
		require.Equal(t, c.code, w.Code)
		require.Equal(t, "application/json", w.Header().Get("Content-Type"))
		require.Equal(t, c.length, w.Header().Get("Inference-Header-Content-Length"), "replies keep their framing")
	}
	// Without metrics there is nothing to redirect to.
	r := httptest.NewRequest(http.MethodPost, "/p", nil)
	r.Header.Set("X-Vertex-Ai-Triton-Redirect", "metrics")
	w := httptest.NewRecorder()
	over(h).ServeHTTP(w, r)
	require.Equal(t, http.StatusBadRequest, w.Code)
}
