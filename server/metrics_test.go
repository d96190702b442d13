package server_test

import (
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server"
	"triton/server/servertest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// TestMetrics compares the whole page, with the values that differ from run to
// run masked. The golden file was compared with what Triton's server 2.51
// writes: the same families in the same order, with the same texts, types and
// labels, and nv_model_load_duration_secs, which came later.
func TestMetrics(t *testing.T) {
	t.Parallel()
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
	require.Eventually(t, func() bool {
		_, text := get(t, c, "http://"+s.Metrics+"/metrics")
		return strings.Contains(text, "nv_cpu_memory_used_bytes")
	}, 5*time.Second, time.Millisecond)
	_, text := get(t, c, "http://"+s.Metrics+"/metrics/")
	require.NotRegexp(t, regexp.MustCompile(`(?m)^[^#].* [^ ]*[eE][^ ]*$`), text, "no number has an exponent")
	masked := regexp.MustCompile(`(?m)^(nv_(?:\w+_duration_us|model_load_duration_secs|cpu_\w+)(?:\{.*\})?) [0-9.]+$`)
	golden(t, "metrics.txt", masked.ReplaceAllString(text, "$1 *"))
}

func TestMetricsEndpoint(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	c := newClient(t)
	code, text := get(t, c, "http://"+s.Metrics+"/")
	require.Equal(t, http.StatusOK, code)
	require.Empty(t, text)
	resp, err := c.Get("http://" + s.Metrics + "/metrics")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, "text/plain; charset=utf-8", resp.Header.Get("Content-Type"))
	code, text, err = post(c, "http://"+s.Metrics+"/metrics", "")
	require.NoError(t, err)
	require.Equal(t, http.StatusMethodNotAllowed, code)
	require.Equal(t, `{"error":"Method Not Allowed"}`, text)
}
