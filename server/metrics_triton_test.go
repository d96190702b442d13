package server_test

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server"
	"triton/server/servertest"
)

// ours are the families that Triton 2.51 does not have.
var ours = regexp.MustCompile(`^(# (HELP|TYPE) )?(triton_|go_|process_|nv_model_load_duration_secs)`)

// series returns a page's lines without the values.
func series(page string) []string {
	var all []string
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(line, "#") {
			line = line[:strings.LastIndexByte(line, ' ')]
		}
		if !ours.MatchString(line) {
			all = append(all, line)
		}
	}
	return all
}

func headers(lines []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return !strings.HasPrefix(l, "#") })
}

// TestMetricsOfTriton compares the names, texts, types, labels and series with the page of
// Triton's server 2.51 in testdata/metrics, after the same requests to models of the same names.
// Triton writes the series of a family in the order of a hash table.
func TestMetricsOfTriton(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		settings map[string]string
		noCPU    bool
	}{
		{name: "defaults", settings: map[string]string{"nonsense": "1", "summary_latencies": "TRUE", "counter_latencies": "0"}},
		{name: "counters_off", settings: map[string]string{"counter_latencies": "false"}},
		{name: "summaries", settings: map[string]string{"summary_latencies": "true", "summary_quantiles": "0.5:0.05,0.999:0.001,x"}},
		{name: "no_cpu", noCPU: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := servertest.Start(t,
				servertest.Model("m", servertest.Identity("INT32", "1", 0)),
				servertest.Model("b", servertest.Identity("INT32", "1", 8)+
					`metric_tags { key: "team" value: "a \"b\"\\" } metric_tags { key: "zone" value: "x" }`),
				servertest.With(func(o *server.Options) {
					o.Metrics.GPU, o.Metrics.CPU, o.Metrics.Settings = false, !c.noCPU, c.settings
				}))
			page := recordedPage(t, s, c.name)
			if c.name == "summaries" {
				require.Contains(t, page, `nv_inference_queue_summary_us_count{model="m",version="1"} 3`)
				require.Contains(t, page, `_zone="x",model="b",version="1",quantile="0.999"} Nan`)
			}
		})
	}
}

// TestExecutionsOfInstances checks that each instance has its own counter, if asked for.
func TestExecutionsOfInstances(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{false, true} {
		s := servertest.Start(t,
			servertest.Model("m", servertest.Identity("INT32", "1", 0)+`instance_group { count: 2 kind: KIND_CPU }`),
			servertest.With(func(o *server.Options) {
				if on {
					o.Metrics.Settings = map[string]string{"instance_executions": "true"}
				}
			}))
		client := newClient(t)
		for range 3 {
			code, reply, err := post(client, "http://"+s.HTTP+"/v2/models/m/infer",
				`{"inputs":[{"name":"INPUT0","shape":[1],"datatype":"INT32","data":[1]}]}`)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, code, reply)
		}
		_, page := get(t, client, "http://"+s.Metrics+"/metrics")
		var sum int
		for _, m := range regexp.MustCompile(`triton_instance_exec_count\{instance="[01]",model="m",version="1"\} (\d+)`).FindAllStringSubmatch(page, -1) {
			n, err := strconv.Atoi(m[1])
			require.NoError(t, err)
			sum += n
		}
		require.Equal(t, on, sum == 3, page)
		require.Equal(t, on, strings.Contains(page, "triton_instance_exec_count"))
	}
}

// TestHistograms compares the whole text of the histograms: their names, the buckets of a
// model's configuration, and the position of the label le.
func TestHistograms(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t,
		servertest.Model("m", servertest.Identity("INT32", "1", 0)+`model_metrics {
  metric_control { metric_identifier { family: "nv_inference_first_response_histogram_ms" } histogram_options { buckets: [ 60000, 120000.5 ] } }
  metric_control { metric_identifier { family: "nv_inference_queue_duration_histogram_us" } histogram_options { buckets: [ 60000000 ] } }
  metric_control { metric_identifier { family: "nv_inference_request_success" } histogram_options { buckets: [ 1 ] } }
}`),
		servertest.With(func(o *server.Options) {
			o.Metrics.GPU, o.Metrics.CPU, o.Metrics.Settings = false, false, map[string]string{"histogram_latencies": "true"}
		}))
	client := newClient(t)
	for range 2 {
		code, reply, err := post(client, "http://"+s.HTTP+"/v2/models/m/infer",
			`{"inputs":[{"name":"INPUT0","shape":[1],"datatype":"INT32","data":[1]}]}`)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, code, reply)
	}
	_, page := get(t, client, "http://"+s.Metrics+"/metrics")
	begin := strings.Index(page, "# HELP nv_inference_first_response_histogram_ms")
	end := strings.Index(page, "# HELP triton_")
	require.Positive(t, begin)
	masked := regexp.MustCompile(`(?m)^(nv_\w+_(?:ms_sum|us_sum|us_bucket)\{.*\}) [0-9]+$`).ReplaceAllString(page[begin:end], "$1 *")
	golden(t, "histograms.txt", masked)
	for _, h := range []string{"request", "queue", "compute_input", "compute_infer", "compute_output"} {
		require.Contains(t, page, `nv_inference_`+h+`_duration_histogram_us_bucket{model="m",version="1",le="+Inf"} 2`)
	}
	require.NotContains(t, page[begin:end], "summary")
}

// recordedPage returns the metrics page after three requests to the model m. Its
// families and series are those that Triton's server wrote down under that name.
func recordedPage(t *testing.T, s *servertest.Server, name string) string {
	t.Helper()
	client := newClient(t)
	for range 3 {
		code, reply, err := post(client, "http://"+s.HTTP+"/v2/models/m/infer",
			`{"inputs":[{"name":"INPUT0","shape":[1],"datatype":"INT32","data":[1]}]}`)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, code, reply)
	}
	_, page := get(t, client, "http://"+s.Metrics+"/metrics")
	text, err := os.ReadFile(filepath.Join("testdata", "metrics", name+".txt"))
	require.NoError(t, err)
	want, got := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"), series(page)
	require.Equal(t, headers(want), headers(got), "families in their order")
	require.ElementsMatch(t, want, got)
	return page
}
