package platform_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/server/frontend"
	"triton/server/http1"
	"triton/server/infer"
	"triton/server/memory"
	"triton/server/platform"
)

// service is a server whose models load, except those with certain names.
type service struct {
	infer.Service
	ready map[string]bool
}

func (s *service) ModelReady(name, _ string) (bool, error) { return s.ready[name], nil }

func (s *service) Load(_ context.Context, name string, _ infer.LoadOptions) error {
	if text, bad := strings.CutPrefix(name, "bad:"); bad {
		return status.New(status.Internal, "%s", text)
	}
	s.ready[name] = true
	return nil
}

func (s *service) Unload(_ context.Context, name string, dependents bool) error {
	if !dependents || !s.ready[name] {
		return status.New(status.NotFound, "no model")
	}
	delete(s.ready, name)
	return nil
}

func (s *service) Index(bool) *inferencepb.RepositoryIndexResponse {
	return &inferencepb.RepositoryIndexResponse{Models: []*inferencepb.RepositoryIndexResponse_ModelIndex{
		{Name: "one", State: "UNAVAILABLE", Reason: "unloaded"},
	}}
}

// repositories records the registered paths, each with its names as text.
type repositories map[string]string

func (r repositories) Register(path string, names map[string]string) error {
	if _, known := r[path]; known {
		return status.New(status.AlreadyExists, "model repository '%s' has already been registered", path)
	}
	r[path] = fmt.Sprint(names)
	return nil
}

func (r repositories) Unregister(path string) error {
	delete(r, path)
	return nil
}

// echo answers with the request that the KServe API would get; a body that begins with a number
// sets the status.
func echo(x *http1.Exchange) {
	body, _ := io.ReadAll(x.Body)
	x.ContentType = http1.JSON
	if x.Header.HasJSONLength {
		x.JSONSize, _ = strconv.Atoi(x.Header.JSONLength)
	}
	var code int
	if n, _ := fmt.Sscan(string(body), &code); n == 1 {
		x.Status = code
	}
	x.Text = fmt.Appendf(x.Text[:0], "%s %s %s", x.Method, x.Path, body)
	x.Send()
}

// start serves until the test ends and returns the URL.
func start(t *testing.T, change func(*platform.SageMakerOptions)) (string, repositories, string) {
	t.Helper()
	repos, root := repositories{}, t.TempDir()
	o := platform.SageMakerOptions{HTTP: http1.HandlerFunc(echo), Repositories: repos, Root: root, DefaultModel: "m n"}
	if change != nil {
		change(&o)
	}
	h, err := platform.NewSageMaker(&service{ready: map[string]bool{}}, o)
	require.NoError(t, err)
	s := http1.NewServer(h, http1.Options{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		require.ErrorIs(t, <-done, http.ErrServerClosed)
	})
	return "http://" + l.Addr().String(), repos, root
}

func ask(t *testing.T, url, method, path, body string, header ...string) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body))
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(text), resp.Header
}

func TestOneModel(t *testing.T) {
	t.Parallel()
	s, _, _ := start(t, nil)
	for _, c := range []struct {
		method, path, body string
		code               int
		want               string
	}{
		{"GET", "/ping", "", 200, "GET /v2/health/ready "},
		{"POST", "/ping", "", 200, "POST /v2/health/ready "}, // which refuses it
		{"POST", "/invocations", "{}", 200, "POST /v2/models/m%20n/infer {}"},
		{"POST", "/invocations", "503", 503, "POST /v2/models/m%20n/infer 503"},
		{"GET", "/", "", 400, ""},
		{"GET", "/v2", "", 400, ""},
		{"PUT", "/models", "", 400, ""},
		{"POST", "/models/a/b/invoke", "", 400, ""},
		{"POST", "/modelsx", "", 400, ""},
	} {
		code, text, _ := ask(t, s, c.method, c.path, c.body)
		require.Equal(t, c.code, code, c.path)
		require.Equal(t, c.want, text, c.path)
	}
	for _, kind := range []string{"infer", "generate", "generate_stream"} {
		s, _, _ := start(t, func(o *platform.SageMakerOptions) { o.InferenceType, o.PingMode = kind, "live" })
		_, text, _ := ask(t, s, "POST", "/invocations", "")
		require.Equal(t, "POST /v2/models/m%20n/"+kind+" ", text)
		_, text, _ = ask(t, s, "GET", "/ping", "")
		require.Equal(t, "GET /v2/health/live ", text)
	}
	_, err := platform.NewSageMaker(nil, platform.SageMakerOptions{InferenceType: "guess"})
	require.EqualError(t, err, "Server has invalid inference type 'guess'. Must be one of: infer, generate, generate_stream.")
}

func TestSageMakerBinary(t *testing.T) {
	t.Parallel()
	s, _, _ := start(t, nil)
	const kind = "application/vnd.sagemaker-triton.binary+json;json-header-size="
	for _, c := range []struct {
		content, answer string
		code            int
	}{
		{"application/json", "application/json", 200},
		{kind + "2", kind + "2", 200},
		{"additional-string/" + kind + "2", "application/json", 400},
		{kind + "additional-string2", "application/json", 400},
		{kind + "-123", "application/json", 400},
		{kind + "12345", "application/json", 400},
		{kind + "99999999999", "application/json", 400},
	} {
		code, text, header := ask(t, s, "POST", "/invocations", "{}xy", "Content-Type", c.content)
		require.Equal(t, c.code, code, text)
		require.Equal(t, c.answer, header.Get("Content-Type"))
		require.Empty(t, header.Get("Inference-Header-Content-Length"))
	}
}

// place makes files and folders (with a slash at the end) below a root.
func place(t *testing.T, root string, files ...string) {
	t.Helper()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(root, files[i])
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(files[i+1]), 0o644))
	}
}

func TestManyModels(t *testing.T) {
	t.Parallel()
	s, repos, root := start(t, nil)
	place(t, root,
		"1a/model/one/config.pbtxt", "", "2b/model/config.pbtxt", "",
		"3c/model/a/config.pbtxt", "platform: \"ensemble\"", "3c/model/b/config.pbtxt", "")
	load := func(name, hash string, header ...string) (int, string) {
		code, text, _ := ask(t, s, "POST", "/models", fmt.Sprintf(`{"model_name":%q,"url":%q}`, name, root+"/"+hash+"/model"), header...)
		return code, text
	}
	code, text := load("one", "1a")
	require.Equal(t, 200, code, text)
	require.Empty(t, text)
	code, text = load("one", "1a")
	require.Equal(t, 409, code)
	require.Equal(t, `{"error":"model repository '`+root+`/1a/model' has already been registered"}`, text)
	code, _ = load("two", "2b", "X-Amzn-SageMaker-Target-Model", "two.tar.gz")
	require.Equal(t, 200, code)
	code, _ = load("three", "3c")
	require.Equal(t, 200, code)
	require.Equal(t, repositories{
		root + "/1a/model": "map[one:one]", root + "/2b": "map[model:two.tar.gz]", root + "/3c/model": "map[a:three]",
	}, repos)

	_, text, _ = ask(t, s, "GET", "/models", "")
	require.JSONEq(t, fmt.Sprintf(`{"models":[{"modelName":"one","modelUrl":"%s/1a/model"},{"modelName":"three","modelUrl":"%s/3c/model"},{"modelName":"two","modelUrl":"%s/2b"}]}`, root, root, root), text)
	_, text, _ = ask(t, s, "GET", "/models/two", "")
	require.JSONEq(t, fmt.Sprintf(`{"modelName":"two","modelUrl":"%s/2b"}`, root), text)

	for _, c := range []struct {
		path, body string
		code       int
		want       string
	}{
		{"/models/one/invoke", "{}", 200, "POST /v2/models/one/infer {}"},
		{"/models/two/invoke", "{}", 200, "POST /v2/models/two.tar.gz/infer {}"},
		{"/models/four/invoke", "{}", 404, ""},
		{"/models/one/invoke", "404", 400, "POST /v2/models/one/infer 404"},
		{"/models/one/invoke", "500 CUDA out of memory", 507, "POST /v2/models/one/infer 500 CUDA out of memory"},
		{"/models/one/invoke", "405", 405, "POST /v2/models/one/infer 405"},
	} {
		code, text, _ := ask(t, s, "POST", c.path, c.body)
		require.Equal(t, c.code, code, c.path)
		require.Equal(t, c.want, text)
	}

	code, _, _ = ask(t, s, "DELETE", "/models/one", "")
	require.Equal(t, 200, code)
	require.NotContains(t, repos, root+"/1a/model")
	for _, method := range []string{"DELETE", "GET"} {
		code, _, _ = ask(t, s, method, "/models/one", "")
		require.Equal(t, 404, code)
	}
}

func TestLoadRefused(t *testing.T) {
	t.Parallel()
	s, repos, root := start(t, nil)
	place(t, root, "1a/model/one/config.pbtxt", "")
	good := fmt.Sprintf("%q", root+"/1a/model")
	for _, c := range []struct {
		body string
		code int
		want string
	}{
		{`{"model_name":"bad:x","url":` + good + `}`, 400, `{"error":"x"}`},
		{`{"model_name":"bad:failed to allocate memory for y","url":` + good + `}`, 507, `{"error":"failed to allocate memory for y"}`},
		{`{"model_name":1,"url":` + good + `}`, 400, `{"error":"attempt to access JSON non-string as string"}`},
		{`{"model_name":"a"}`, 400, `{"error":"Invalid \"url\" '': expected a path of the form ` + root + `/<hash>/model[/<subdir>]"}`},
		{`{"model_name":"a","url":"/dev/model"}`, 400, `{"error":"Invalid \"url\" '/dev/model': expected a path of the form ` + root + `/<hash>/model[/<subdir>]"}`},
		{`{"model_name":"a","url":"` + root + `/../x/model"}`, 400, `{"error":"Invalid \"url\" '` + root + `/../x/model': expected a path of the form ` + root + `/<hash>/model[/<subdir>]"}`},
		{`{"model_name":"a","url":"` + root + `/a-b/model"}`, 400, `{"error":"Invalid \"url\" '` + root + `/a-b/model': expected a path of the form ` + root + `/<hash>/model[/<subdir>]"}`},
	} {
		code, text, _ := ask(t, s, "POST", "/models", c.body)
		require.Equal(t, c.code, code, c.body)
		require.Equal(t, c.want, text)
	}
	code, text, _ := ask(t, s, "POST", "/models", "{")
	require.Equal(t, 400, code)
	require.Contains(t, text, "failed to parse the request JSON buffer")
	require.Empty(t, repos, "what fails leaves nothing")

	s, _, _ = start(t, func(o *platform.SageMakerOptions) { o.Repositories = nil })
	code, _, _ = ask(t, s, "POST", "/models", `{}`)
	require.Equal(t, 400, code)
}

func TestRestricted(t *testing.T) {
	t.Parallel()
	rules, err := frontend.ParseRestrictions(frontend.RestrictedAPI, []string{"model-repository:admin-key=secret"})
	require.NoError(t, err)
	s, _, _ := start(t, func(o *platform.SageMakerOptions) { o.Restricted = rules })
	for _, c := range []struct{ method, path string }{{"GET", "/models"}, {"GET", "/models/a"}, {"POST", "/models"}, {"DELETE", "/models/a"}} {
		code, text, _ := ask(t, s, c.method, c.path, "")
		require.Equal(t, 403, code)
		require.Equal(t, `{"error":"This API is restricted, expecting header 'admin-key'"}`, text)
	}
	code, text, _ := ask(t, s, "GET", "/models", "", "admin-key", "secret")
	require.Equal(t, 200, code)
	require.Equal(t, `{"models":[]}`, text)
}

// TestLoadIsCounted: the body of a load takes memory before it is read, none of that for small requests.
// Long ones are refused.
func TestLoadIsCounted(t *testing.T) {
	t.Parallel()
	budget := memory.New(8 << 20)
	s, _, _ := start(t, func(o *platform.SageMakerOptions) { o.Memory = budget })
	budget.Add(memory.Messages, 7<<20)
	for _, body := range []io.Reader{strings.NewReader("{}"), io.MultiReader(strings.NewReader("{}"))} { // of known and unknown length
		resp, err := http.Post(s+"/models", "application/json", body)
		require.NoError(t, err)
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode, "%s", text)
		require.Equal(t, "1", resp.Header.Get("Retry-After"))
		require.Contains(t, string(text), "no memory for")
	}
	budget.Return(memory.Messages, 7<<20)
	code, text, _ := ask(t, s, "POST", "/models", "{}")
	require.Equal(t, http.StatusBadRequest, code)
	require.Contains(t, text, "Invalid")
	code, text, _ = ask(t, s, "POST", "/models", strings.Repeat(" ", 1<<20+1))
	require.Equal(t, http.StatusBadRequest, code)
	require.Contains(t, text, "exceeds the maximum of 1048576 bytes")
	require.Eventually(t, func() bool { return budget.Total() == 0 }, time.Minute, time.Millisecond)
}
