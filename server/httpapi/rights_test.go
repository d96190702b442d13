package httpapi_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
	"triton/server/access/accesstest"
	"triton/server/access/policy"
	"triton/server/http1"
	"triton/server/http1/http1test"
	"triton/server/httpapi"
	"triton/server/readiness"
)

// TestRights calls every route as every kind of caller: without a key, with a key for nothing,
// with each right alone, and with all, for a model that it may use, another, and one that does
// not exist.
func TestRights(t *testing.T) {
	t.Parallel()
	http1test.Both(t, func(t *testing.T, serve http1test.Serving) {
		guard, keys := accesstest.EachRight(t, "simple")
		pool := tensor.NewPool()
		core := newStub(pool)
		core.stats = &inferencepb.ModelStatisticsResponse{}
		addr := serve(t, httpapi.New(core, httpapi.Options{
			Pool: pool, Guard: guard, Readiness: func() readiness.Report { return readiness.Report{} },
		}), http1.Options{})
		ask := func(r httpapi.RouteSample, model, key string) (int, string, http.Header) {
			body := "[" // no endpoint gets further than to read it
			if model == "" {
				body = ""
			}
			req, err := http.NewRequestWithContext(t.Context(), r.Method, "http://"+addr+strings.ReplaceAll(r.Path, "MODEL", model), strings.NewReader(body))
			require.NoError(t, err)
			if key != "" {
				req.Header.Set("Authorization", "Bearer "+key)
			}
			resp, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			return resp.StatusCode, string(text), resp.Header
		}
		for _, r := range httpapi.RouteSamples() {
			models := []string{"simple"}
			if strings.Contains(r.Path, "MODEL") {
				models = append(models, "two", "missing")
			}
			for _, model := range models {
				open := r.Action == policy.ActionHealth
				code, text, head := ask(r, model, "")
				if !open {
					require.Equal(t, http.StatusUnauthorized, code, "%s %s", r.Path, model)
					require.Equal(t, `Bearer realm="triton"`, head.Get("WWW-Authenticate"))
					require.NotContains(t, text, model)
				}
				code, _, head = ask(r, model, "triton_wrong")
				if !open {
					require.Equal(t, http.StatusUnauthorized, code, "%s %s", r.Path, model)
					require.Contains(t, head.Get("WWW-Authenticate"), "invalid_token")
				}
				for owner, key := range keys {
					want := open || owner == "all" || owner == r.Action.String() && (!r.Action.OfModel() || model == "simple")
					code, text, _ := ask(r, model, key)
					require.NotEqual(t, http.StatusUnauthorized, code, text)
					require.Equal(t, want, code != http.StatusForbidden, "%s %s as %s: %d %s", r.Path, model, owner, code, text)
					if !want {
						require.JSONEq(t, `{"error":"this call is not permitted"}`, text, "a model that exists is refused like one that does not")
					}
				}
			}
		}
		// Lists have only what the caller may see, and reasons of readiness name all models.
		_, text, _ := ask(httpapi.RouteSample{Method: "POST", Path: "/v2/repository/index"}, "", keys["index"])
		require.JSONEq(t, `[{"name":"simple","version":"1","state":"READY"}]`, text)
		_, text, _ = ask(httpapi.RouteSample{Method: "GET", Path: "/v2/health/ready?verbose"}, "", keys["index"])
		require.Empty(t, text)
		_, text, _ = ask(httpapi.RouteSample{Method: "GET", Path: "/v2/health/ready?verbose"}, "", keys["all"])
		require.NotEmpty(t, text)
	})
}

// TestControlElsewhere refuses the calls for operation where another port serves them.
func TestControlElsewhere(t *testing.T) {
	t.Parallel()
	core := newStub(tensor.NewPool())
	core.stats = &inferencepb.ModelStatisticsResponse{}
	addr := http1test.Start(t, http1.NewServer(httpapi.New(core, httpapi.Options{RefuseControl: true}), http1.Options{}))
	for _, r := range httpapi.RouteSamples() {
		if strings.Contains(r.Path, "verbose") {
			continue
		}
		req, err := http.NewRequestWithContext(t.Context(), r.Method, "http://"+addr+strings.ReplaceAll(r.Path, "MODEL", "simple"), strings.NewReader("["))
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, r.Action.Control(), resp.StatusCode == http.StatusForbidden, r.Path)
	}
}
