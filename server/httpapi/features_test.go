package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/sharedtest"
	"triton/server/frontend"
	"triton/server/httpapi"
	"triton/server/infer"
)

// fetch sends one request and reads the whole reply. Headers are "Name: value".
func fetch(t *testing.T, method, url, body string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(method, "http://"+url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Accept-Encoding", "identity") // net/http would ask for gzip
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Add(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(text)
}

// TestRestricted compares with the answers of NVIDIA's server with the same rules.
func TestRestricted(t *testing.T) { both(t, testRestricted) }

func testRestricted(t *testing.T, start serving) {
	rules, err := frontend.ParseRestrictions(frontend.RestrictedAPI, []string{
		"health,metadata,inference,shared-memory,model-config,model-repository:k1=v1", "statistics,trace,logging:K2=v=2",
	})
	require.NoError(t, err)
	svc := newService()
	svc.stats = &inferencepb.ModelStatisticsResponse{}
	addr := start(t, svc, httpapi.Options{Restricted: rules})
	const model = "/v2/models/g_one"
	for _, c := range []struct {
		method, path, header string
		code                 int
		needs                string
	}{
		{"GET", "/v2/health/live", "", 403, "k1"},
		{"GET", "/v2/health/ready", "", 403, "k1"},
		{"GET", model + "/ready", "", 403, "k1"},
		{"GET", "/v2", "", 403, "k1"},
		{"GET", model, "", 403, "k1"},
		{"POST", model + "/infer", "", 403, "k1"},
		{"POST", model + "/generate", "", 403, "k1"},
		{"POST", model + "/generate_stream", "", 403, "k1"},
		{"GET", "/v2/systemsharedmemory/status", "", 403, "k1"},
		{"GET", "/v2/cudasharedmemory/status", "", 403, "k1"},
		{"POST", "/v2/systemsharedmemory/region/x/register", "", 403, "k1"},
		{"GET", model + "/config", "", 403, "k1"},
		{"POST", "/v2/repository/index", "", 403, "k1"},
		{"POST", "/v2/repository/models/g_one/load", "", 403, "k1"},
		{"POST", "/v2/repository/models/g_one/unload", "", 403, "k1"},
		{"GET", model + "/stats", "", 403, "K2"},
		{"GET", "/v2/models/stats", "", 403, "K2"},
		{"GET", "/v2/trace/setting", "", 403, "K2"},
		{"GET", model + "/trace/setting", "", 403, "K2"},
		{"GET", "/v2/logging", "", 403, "K2"},
		{"POST", "/v2/models/nope/infer", "", 403, "k1"},
		{"GET", "/v2/nope", "", 404, ""},
		{"POST", "/v2/health/live", "", 403, "k1"},
		{"GET", model + "/infer", "", 403, "k1"},
		{"HEAD", "/v2/health/live", "", 403, "k1"},
		{"GET", "/v2/health/live", "k1: v1", 200, ""},
		{"GET", "/v2/health/live", "K1: v1", 200, ""},
		{"GET", "/v2/health/live", "k1: V1", 403, "k1"},
		{"GET", "/v2/health/live", "k1: v1x", 403, "k1"},
		{"GET", "/v2/health/live", "k2: v=2", 403, "k1"},
		{"GET", "/v2/models/stats", "k2: v=2", 200, ""},
		{"POST", "/v2/models/nope/infer", "k1: v1", 404, ""},
		{"POST", "/v2/health/live", "k1: v1", 405, ""},
	} {
		var header []string
		if c.header != "" {
			header = []string{c.header}
		}
		resp, text := fetch(t, c.method, addr+c.path, "", header...)
		require.Equal(t, c.code, resp.StatusCode, "%s %s %s", c.method, c.path, c.header)
		if c.code == 403 && c.method != "HEAD" {
			require.Equal(t, `{"error":"This API is restricted, expecting header '`+c.needs+`'"}`, text)
			require.Equal(t, "text/plain", resp.Header.Get("Content-Type"))
		}
	}
}

// TestForwardBlanks: blanks around values are those that Triton forwards.
func TestForwardBlanks(t *testing.T) {
	both(t, func(t *testing.T, start serving) {
		svc := newService()
		var got []string
		svc.infer = func(_ context.Context, r *infer.Request) (*infer.Response, error) {
			got = got[:0]
			for _, p := range r.Parameters {
				got = append(got, p.String)
			}
			return infer.NewResponse(), nil
		}
		addr := start(t, svc, httpapi.Options{Forward: regexp.MustCompile(`my.*`)})
		for _, c := range []struct {
			lines string
			want  []string
		}{
			{"my: v ", []string{"v "}},
			{"my:  v", []string{"v"}},
			{"my:v\t", []string{"v\t"}},
			{"my:\tv\t ", []string{"\tv\t "}},
			{"my: a  b  ", []string{"a  b  "}},
			{"my:   ", []string{" "}},
			{"my:", []string{" "}},
			{"my:\t", []string{"\t"}},
			{"my:  \t v \t \t", []string{"\t v \t \t"}},
			{"my: one \r\nmy: two  ", []string{"one ", "two  "}},
		} {
			reply := dial(t, addr, "POST /v2/models/id_fp32/infer HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"+c.lines+
				"\r\nContent-Length: 13\r\n\r\n"+`{"inputs":[]}`, false)
			require.Contains(t, reply, "HTTP/1.1 200 OK")
			if strings.Contains(t.Name(), "net/http") { // which cuts them
				for i := range c.want {
					c.want[i] = strings.Trim(c.want[i], " \t")
				}
			}
			require.Equal(t, c.want, got, "%q", c.lines)
		}
	})
}

// TestForward: the names keep their case, but for net/http which does not know
// it any more.
func TestForward(t *testing.T) {
	both(t, func(t *testing.T, start serving) {
		svc := newService()
		var got []kserve.Parameter
		svc.infer = func(_ context.Context, r *infer.Request) (*infer.Response, error) {
			got = append(got[:0], r.Parameters...)
			return infer.NewResponse(), nil
		}
		addr := start(t, svc, httpapi.Options{Forward: regexp.MustCompile(`(?i)my-.*|triton_|^priority$`)})
		for _, c := range []struct{ header, name string }{
			{"my-header", "my-header"},
			{"My-Header", "My-Header"},
			{"PRIORITY", "PRIORITY"},
			{"xmy-b", "xmy-b"},
			{"other", ""},
			{"priorityx", ""},
			{"xtriton_", "xtriton_"},
		} {
			reply := dial(t, addr, "POST /v2/models/id_fp32/infer HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"+c.header+
				": some value\r\nContent-Length: 13\r\n\r\n"+`{"inputs":[]}`, false)
			if strings.Contains(t.Name(), "net/http") {
				c.name = strings.ToLower(c.name)
			}
			if c.name == "priority" {
				require.Contains(t, reply, "Header 'priority' is reserved for Triton usage and cannot be forwarded.")
				continue
			}
			require.Contains(t, reply, "HTTP/1.1 200 OK")
			if c.name == "" {
				require.Empty(t, got)
				continue
			}
			require.Equal(t, []kserve.Parameter{{Name: c.name, Kind: kserve.ParamString, String: "some value"}}, got)
		}
		resp, text := fetch(t, "POST", addr+"/v2/models/id_fp32/infer", `{"inputs":[]}`, "triton_x: 1")
		if resp.StatusCode == 200 { // net/http's client writes names its own way
			require.Equal(t, "Triton_x", got[0].Name)
		} else {
			require.Equal(t, 400, resp.StatusCode)
			require.Contains(t, text, "Header 'triton_x' is reserved")
		}
		// A broken body is reported first.
		_, text = fetch(t, "POST", addr+"/v2/models/id_fp32/infer", `{"inputs":[`, "priority: 1")
		require.Contains(t, text, "failed to parse the request JSON buffer")
	})
}

// TestForwardOnEveryRoute: each way to a model forwards the headers that match, beside the
// parameters of the body, and refuses reserved names.
func TestForwardOnEveryRoute(t *testing.T) {
	both(t, func(t *testing.T, start serving) {
		svc := newService()
		var got []kserve.Parameter
		svc.infer = func(_ context.Context, r *infer.Request) (*infer.Response, error) {
			got = append(got[:0], r.Parameters...)
			return infer.NewResponse(), nil
		}
		addr := start(t, svc, httpapi.Options{Forward: regexp.MustCompile(`(?i)^x-|^timeout$|^triton_`)})
		for path, body := range map[string]string{
			"infer":                      `{"inputs":[],"parameters":{"seed":7}}`,
			"generate":                   `{"parameters":{"seed":7}}`,
			"generate_stream":            `{"seed":7}`,
			"versions/1/infer":           `{"inputs":[],"parameters":{"seed":7}}`,
			"versions/1/generate":        `{"seed":7}`,
			"versions/1/generate_stream": `{"seed":7}`,
		} {
			post := func(header string) string {
				return dial(t, addr, fmt.Sprintf("POST /v2/models/id_fp32/%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s\r\nContent-Length: %d\r\n\r\n%s",
					path, header, len(body), body), false)
			}
			require.Contains(t, post("x-tenant: blue\r\nother: no"), "HTTP/1.1 200 OK", path)
			require.Equal(t, []kserve.Parameter{
				{Name: "seed", Kind: kserve.ParamInt, Int: 7}, {Name: "x-tenant", Kind: kserve.ParamString, String: "blue"},
			}, got, path)
			reply := post("timeout: 3")
			require.Contains(t, reply, "HTTP/1.1 400 ", path)
			require.Contains(t, reply, "Header 'timeout' is reserved for Triton usage and cannot be forwarded.", path)
		}
	})
}

func TestCORS(t *testing.T) {
	both(t, func(t *testing.T, start serving) {
		const origin = "https://app.example"
		addr := start(t, newService(), httpapi.Options{Origins: []string{origin}})
		resp, _ := fetch(t, "GET", addr+"/v2", "", "Origin: "+origin)
		require.Equal(t, origin, resp.Header.Get("Access-Control-Allow-Origin"))
		require.Equal(t, "Origin", resp.Header.Get("Vary"))
		require.Contains(t, resp.Header.Get("Access-Control-Expose-Headers"), "Inference-Header-Content-Length")

		for _, other := range []string{"https://other.example", origin + ".evil", "null", "*"} {
			resp, _ = fetch(t, "GET", addr+"/v2", "", "Origin: "+other)
			require.Equal(t, 200, resp.StatusCode)
			require.Empty(t, resp.Header.Get("Access-Control-Allow-Origin"), other)
		}
		resp, text := fetch(t, "OPTIONS", addr+"/v2/models/simple/infer", "", "Origin: "+origin,
			"Access-Control-Request-Method: POST", "Access-Control-Request-Headers: content-type,x-key")
		require.Equal(t, 200, resp.StatusCode)
		require.Empty(t, text)
		require.Equal(t, "POST, OPTIONS", resp.Header.Get("Access-Control-Allow-Methods"))
		require.Equal(t, "content-type,x-key", resp.Header.Get("Access-Control-Allow-Headers"))
		resp, _ = fetch(t, "OPTIONS", addr+"/v2/nope", "", "Origin: "+origin)
		require.Equal(t, 404, resp.StatusCode)

		addr = start(t, newService(), httpapi.Options{})
		resp, _ = fetch(t, "GET", addr+"/v2", "", "Origin: "+origin)
		require.Empty(t, resp.Header.Get("Access-Control-Allow-Origin"))
		require.Empty(t, resp.Header.Get("Vary"))
		resp, _ = fetch(t, "OPTIONS", addr+"/v2/logging", "", "Origin: "+origin)
		require.Equal(t, "GET, HEAD, POST, OPTIONS", resp.Header.Get("Allow"))
		require.Empty(t, resp.Header.Get("Access-Control-Allow-Origin"))
		resp, _ = fetch(t, "DELETE", addr+"/v2", "")
		require.Equal(t, 405, resp.StatusCode)
		require.Equal(t, "GET, HEAD, OPTIONS", resp.Header.Get("Allow"))
	})
}

func TestAccessLog(t *testing.T) {
	both(t, func(t *testing.T, start serving) {
		var out sharedtest.LogBuffer
		addr := start(t, newService(), httpapi.Options{AccessLog: slog.New(slog.NewJSONHandler(&out, nil))})
		body := `{"id":"r7",` + one(good)[1:]
		fetch(t, "POST", addr+"/v2/models/id_fp32/infer?x=1", body)
		fetch(t, "POST", addr+"/v2/models/g_one/generate_stream", `{"INPUT0":"a","id":"s1"}`)
		fetch(t, "GET", addr+"/nope", "")
		require.Eventually(t, func() bool { return strings.Count(out.String(), "\n") == 3 }, waitTime, pollTime)
		var first map[string]any
		lines := strings.Split(out.String(), "\n")
		require.NoError(t, json.Unmarshal([]byte(lines[0]), &first))
		require.Equal(t, "POST", first["method"])
		require.Equal(t, "/v2/models/id_fp32/infer", first["path"])
		require.InEpsilon(t, 200, first["status"], 0)
		require.InEpsilon(t, len(body), first["received"], 0)
		require.Greater(t, first["sent"], 10.0)
		require.Greater(t, first["duration"], 0.0)
		require.Equal(t, "id_fp32", first["model"])
		require.Equal(t, "r7", first["id"])
		require.Contains(t, first["peer"], "127.0.0.1:")
		require.Contains(t, lines[1], `"sent":74`)
		require.Contains(t, lines[2], `"status":404`)
	})
}

func TestLoadReport(t *testing.T) {
	both(t, func(t *testing.T, start serving) {
		registry := prometheus.NewRegistry()
		blocks := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "nv_trt_llm_kv_cache_block_metrics"}, []string{"kv_cache_block_type"})
		registry.MustRegister(blocks)
		addr := start(t, newService(), httpapi.Options{Metrics: registry})
		report := func(path, format string) string {
			resp, _ := fetch(t, "POST", addr+"/v2/models/g_one/"+path, `{"INPUT0":"a"}`, "endpoint-load-metrics-format: "+format)
			require.Equal(t, 200, resp.StatusCode)
			return resp.Header.Get("endpoint-load-metrics")
		}
		require.Empty(t, report("generate", "json"))
		blocks.WithLabelValues("tokens_per").Set(64)
		blocks.WithLabelValues("used").Set(3)
		blocks.WithLabelValues("max").Set(8)
		require.Equal(t, `JSON {"named_metrics":{"kv_cache_utilization":0.375,"max_token_capacity":512}}`, report("generate", "json"))
		require.Equal(t, `TEXT named_metrics.kv_cache_utilization=0.375000, named_metrics.max_token_capacity=512`, report("generate_stream", "text"))
		require.Empty(t, report("generate", "xml"))
		require.Empty(t, report("generate", ""))
		blocks.WithLabelValues("max").Set(0)
		require.Equal(t, `JSON {"named_metrics":{"kv_cache_utilization":0.0,"max_token_capacity":0}}`, report("generate", "json"))
	})
}
