package server_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/sharedtest"
	"triton/server"
	"triton/server/servertest"
)

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if sharedtest.UpdateGolden() {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// TestMetrics compares the whole page, without the values that differ from run to run. The golden
// file has the families, texts, types, labels and order of Triton's server 2.51, and
// nv_model_load_duration_secs of later versions.
func TestMetrics(t *testing.T) {
	t.Parallel()
	servertest.NeedsInProcess(t, "small tensors are copied to frames")
	s := servertest.Start(t,
		servertest.Model("ident", servertest.Identity("INT32", "4", 8)),
		servertest.Model("tagged", servertest.Identity("INT32", "4", 0)+`metric_tags { key: "team" value: "a \"b\"" }`),
		servertest.With(func(o *server.Options) { o.Metrics.GPU = false }))
	c := newClient(t)
	for range 3 {
		code, text, err := post(c, "http://"+s.HTTP+"/v2/models/ident/infer", body)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, code, text)
	}
	// The memory of a request is given back after its reply is written, so its client may ask before that.
	held := regexp.MustCompile(`(?m)^(nv_pinned_memory_pool|triton_request_memory)_used_bytes(\{.*\})? [1-9]`)
	var text string
	require.Eventually(t, func() bool {
		_, text = get(t, c, "http://"+s.Metrics+"/metrics/")
		return strings.Contains(text, "nv_cpu_memory_used_bytes") && !held.MatchString(text)
	}, time.Minute, time.Millisecond)
	require.NotRegexp(t, regexp.MustCompile(`(?m)^[^#].* [^ ]*[eE][^ ]*$`), text, "no number has an exponent")
	// The pool is used if a body arrives after its head.
	masked := regexp.MustCompile(`(?m)^(nv_(?:\w+_duration_us|model_load_duration_secs|cpu_\w+|pinned_memory_pool_total_bytes)(?:\{.*\})?|triton_heap_allocations_total|triton_connections_(?:limit|open)|triton_request_memory_limit_bytes|triton_inference_in_flight_request_count\{.*\}|triton_model_load_phase_seconds_sum\{.*\}) [0-9.]+$`)
	text, _, found := strings.Cut(text, "# HELP go_") // differs by version and system: TestRuntimeMetrics
	require.True(t, found)
	golden(t, "metrics.txt", masked.ReplaceAllString(text, "$1 *"))
}

// TestMetricsEndpoint sends the requests that were sent to Triton's endpoint, which neither
// decodes paths nor negotiates nor compresses.
func TestMetricsEndpoint(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	c := newClient(t)
	const plain, refused = "text/plain; charset=utf-8", `{"error":"Method Not Allowed"}`
	for _, q := range []struct {
		method, path string
		code         int
		kind, begin  string // of the body; "" is an empty one
	}{
		{"GET", "/metrics", 200, plain, "# HELP nv_"},
		{"GET", "/metrics/", 200, plain, "# HELP nv_"},
		{"GET", "/metrics?a=b", 200, plain, "# HELP nv_"},
		{"GET", "/metrics//", 200, plain, ""},
		{"GET", "//metrics", 200, plain, ""},
		{"GET", "/METRICS", 200, plain, ""},
		{"GET", "/metric%73", 200, plain, ""},
		{"GET", "/metrics/x", 200, plain, ""},
		{"GET", "/", 200, plain, ""},
		{"GET", "/v2/health/live", 200, plain, ""},
		{"HEAD", "/metrics", 405, "text/plain", ""},
		{"POST", "/metrics", 405, "text/plain", refused},
		{"PUT", "/x", 405, "text/plain", refused},
		{"OPTIONS", "/metrics", 405, "text/plain", refused},
	} {
		req, err := http.NewRequestWithContext(t.Context(), q.method, "http://"+s.Metrics+q.path, nil)
		require.NoError(t, err)
		req.Header.Set("Accept-Encoding", "gzip")
		req.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
		resp, err := c.Do(req)
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, q.code, resp.StatusCode, q.path)
		require.Equal(t, q.kind, resp.Header.Get("Content-Type"))
		require.Empty(t, resp.Header.Get("Content-Encoding"))
		if q.method == "HEAD" {
			require.Equal(t, strconv.Itoa(len(refused)), resp.Header.Get("Content-Length"))
		} else {
			require.Equal(t, strconv.Itoa(len(body)), resp.Header.Get("Content-Length"))
		}
		require.Equal(t, q.begin == "", len(body) == 0, "%s: %s", q.path, body)
		require.True(t, strings.HasPrefix(string(body), q.begin))
	}
}

// TestScrapes reads the page over and over on one connection while requests
// run: neither waits for the other and no count is lost.
func TestScrapes(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.Model("m", servertest.Identity("INT32", "4", 8)),
		servertest.With(func(o *server.Options) {
			o.Metrics.GPU = false
			o.Metrics.Interval = 2 * time.Millisecond
			o.Metrics.Settings = map[string]string{"summary_latencies": "true", "histogram_latencies": "true"}
		}))
	const callers, each = 4, 100
	var calls sync.WaitGroup
	for range callers {
		calls.Go(func() {
			c := newClient(t)
			for range each {
				code, text, err := post(c, "http://"+s.HTTP+"/v2/models/m/infer", body)
				if err != nil || code != http.StatusOK {
					t.Errorf("infer: %d %s %v", code, text, err)
					return
				}
			}
		})
	}
	done := make(chan struct{})
	go func() {
		calls.Wait()
		close(done)
	}()
	scraper := newClient(t)
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		code, page := get(t, scraper, "http://"+s.Metrics+"/metrics")
		require.Equal(t, http.StatusOK, code)
		require.Contains(t, page, "nv_inference_queue_summary_us")
	}
	_, page := get(t, scraper, "http://"+s.Metrics+"/metrics")
	for _, name := range []string{
		"nv_inference_request_success", "nv_inference_queue_summary_us_count", "nv_inference_request_duration_histogram_us_count",
	} {
		require.Contains(t, page, "\n"+name+`{model="m",version="1"} 400`+"\n")
	}
}
