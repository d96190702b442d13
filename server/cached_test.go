package server_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server"
	"triton/server/infer"
	"triton/server/repository"
	"triton/server/servertest"
)

// withCache gives the server a local response cache of so many bytes. With TRITON_TEST_CACHES, the
// folder of caches of another server, its library local replaces ours.
func withCache(size string) servertest.Option {
	return servertest.With(func(o *server.Options) {
		o.Cache.Name, o.Cache.Settings = "local", map[string]string{"size": size}
		if dir := os.Getenv("TRITON_TEST_CACHES"); dir != "" {
			o.Cache.Directory, o.Cache.PreferLibrary = dir, true
		}
	})
}

const cachedModel = "response_cache { enable: true }"

// TestMetricsOfCachedModels compares the page with the page of Triton's server 2.51 in
// testdata/metrics, after the same three requests to a cached model, m, and none to another. A
// model has the series of the cache also if the server has no cache.
func TestMetricsOfCachedModels(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		settings map[string]string
		off      bool
		values   []string
	}{
		{
			name:     "cached",
			settings: map[string]string{"summary_latencies": "true", "summary_quantiles": "0.5:0.05"},
			values: []string{
				`nv_cache_num_hits_per_model{model="m",version="1"} 2`, `nv_cache_num_misses_per_model{model="m",version="1"} 1`,
				`nv_inference_request_success{model="m",version="1"} 3`, `nv_inference_count{model="m",version="1"} 1`,
				"nv_cache_num_entries 1", "nv_cache_num_hits 2", "nv_cache_num_misses 1", "nv_cache_num_lookups 3", "nv_cache_num_evictions 0",
				`nv_cache_hit_summary_per_model_count{model="m",version="1"} 2`, `nv_cache_miss_summary_per_model_count{model="m",version="1"} 1`,
				`nv_inference_queue_summary_us_count{model="m",version="1"} 3`, `nv_inference_compute_infer_summary_us_count{model="m",version="1"} 1`,
			},
		},
		{name: "cached_counters_off", settings: map[string]string{"counter_latencies": "false"}, values: []string{"nv_cache_num_hits 2"}},
		{name: "cache_off", off: true, values: []string{
			`nv_cache_num_hits_per_model{model="m",version="1"} 0`, `nv_inference_count{model="m",version="1"} 3`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := []servertest.Option{
				servertest.Model("m", servertest.Identity("INT32", "1", 0)+cachedModel), servertest.Model("b", servertest.Identity("INT32", "1", 8)),
				servertest.With(func(o *server.Options) { o.Metrics.GPU, o.Metrics.Settings = false, c.settings }),
			}
			if !c.off {
				o = append(o, withCache("1048576"))
			}
			s := servertest.Start(t, o...)
			page := recordedPage(t, s, c.name)
			for _, v := range c.values {
				require.Contains(t, page, v+"\n")
			}
		})
	}
}

// statistics returns the counts of a model as text.
func statistics(t *testing.T, c *http.Client, url, model string) string {
	t.Helper()
	_, text := get(t, c, url+"/v2/models/"+model+"/stats")
	var all struct {
		Models []struct {
			Inferences uint64                        `json:"inference_count"`
			Executions uint64                        `json:"execution_count"`
			Stats      map[string]map[string]float64 `json:"inference_stats"`
		} `json:"model_stats"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &all))
	m := all.Models[0]
	line := fmt.Sprintf("inferences %d executions %d", m.Inferences, m.Executions)
	for _, name := range []string{"success", "fail", "queue", "compute_infer", "cache_hit", "cache_miss"} {
		line += fmt.Sprintf(" %s %v", name, m.Stats[name]["count"])
	}
	return line
}

// TestStatisticsOfCachedModels runs the requests of testdata/cached.txt and compares the
// statistics after each with those of Triton's server 2.51, which had a Python model in place of
// the identity backend. A line with two statistics is an intended difference.
func TestStatisticsOfCachedModels(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.Model("m", servertest.Identity("FP32", "-1", 8)+cachedModel), withCache("65536"))
	client, url := newClient(t), "http://"+s.HTTP
	text, err := os.ReadFile(filepath.Join("testdata", "cached.txt"))
	require.NoError(t, err)
	for block := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		lines := strings.Split(block, "\n")
		for _, line := range lines {
			key, rest, _ := strings.Cut(line, " ")
			switch key {
			case "#":
			case "ask":
				code, reply, err := post(client, url+"/v2/models/m/infer", rest)
				require.NoError(t, err)
				require.Equal(t, http.StatusOK, code, reply)
			case "long": // so many values
				var n int
				_, err := fmt.Sscan(rest, &n)
				require.NoError(t, err)
				values := strings.TrimSuffix(strings.Repeat("1,", n), ",")
				code, reply, err := post(client, url+"/v2/models/m/infer",
					fmt.Sprintf(`{"inputs":[{"name":"INPUT0","shape":[1,%d],"datatype":"FP32","data":[%s]}]}`, n, values))
				require.NoError(t, err)
				require.Equal(t, http.StatusOK, code, reply)
			case "triton", "both", "ours":
				if key != "triton" {
					require.Equal(t, rest, statistics(t, client, url, "m"), block)
				}
			default:
				t.Fatalf("what is %q?", line)
			}
		}
	}
}

// TestCacheOptions: mistakes in the options of a cache are reported at the start, with Triton's
// error texts.
func TestCacheOptions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, size, want string }{
		{"local", "", "Invalid argument - Failed to initialize LocalCache: config didn't contain a valid 'size' field."},
		{"local", "abc", "Internal - Failed to initialize LocalCache: stoull"},
		{"local", "99999999999999999999999", "Internal - Failed to initialize LocalCache: stoull"},
		{"local", "-1", "Internal - Failed to initialize LocalCache: failed to allocate buffer"},
		{"local", "0", "Internal - Failed to initialize LocalCache: Could not initialize buffer in basic_managed_external_buffer constructor"},
		{"local", "128", "Internal - Failed to initialize LocalCache: Could not initialize buffer in basic_managed_external_buffer constructor"},
		{"local", " 1048576x", ""},
		{"nosuch", "1", "Invalid argument - unable to find 'libtritoncache_nosuch.so' for cache. Searched: /opt/tritonserver/caches"},
		{"redis", "1", "Invalid argument - Failed to initialize RedisCache, didn't specify address."},
	} {
		o := server.Default()
		o.Repositories, o.Cache.Name, o.Cache.Settings = []string{t.TempDir()}, c.name, map[string]string{"size": c.size}
		if c.size == "" {
			o.Cache.Settings = map[string]string{"foo": "1"}
		}
		_, err := server.New(o)
		if c.want == "" {
			require.NoError(t, err, c.size)
			continue
		}
		require.Regexp(t, "^creating server: "+regexp.QuoteMeta(c.want), err.Error())
	}
}

// reloads is a server with a cached model, m, and a cached ensemble over it, e,
// whose files a test changes.
type reloads struct {
	*testing.T
	dir    string
	server *servertest.Server
	client *http.Client
}

func newReloads(t *testing.T) *reloads {
	t.Helper()
	r := &reloads{T: t, dir: t.TempDir(), client: newClient(t)}
	r.write("m/config.pbtxt", servertest.Identity("INT32", "1", 0)+cachedModel)
	r.write("m/1/weights", "first")
	r.write("e/config.pbtxt", ensembleOverM+cachedModel)
	r.write("e/1/nothing", "")
	r.server = servertest.Start(t, servertest.Repository(r.dir), withCache("65536"), servertest.With(func(o *server.Options) {
		o.Models.Control, o.Models.Startup = repository.ControlExplicit, []string{"*"}
	}))
	return r
}

func (r *reloads) write(name, text string) {
	path := filepath.Join(r.dir, name)
	require.NoError(r, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(r, os.WriteFile(path, []byte(text), 0o644))
}

// hit sends a request and reports whether the cache answered it.
func (r *reloads) hit(model string, value int) bool {
	r.Helper()
	input := map[string]string{"m": "INPUT0", "e": "IN"}[model]
	count := func() uint64 {
		all, err := r.server.Service().Statistics(model, "")
		require.NoError(r, err)
		return all.ModelStats[0].InferenceStats.CacheHit.Count
	}
	before := count()
	code, reply, err := post(r.client, "http://"+r.server.HTTP+"/v2/models/"+model+"/infer",
		fmt.Sprintf(`{"inputs":[{"name":"%s","shape":[1],"datatype":"INT32","data":[%d]}]}`, input, value))
	require.NoError(r, err)
	require.Equal(r, http.StatusOK, code, reply)
	return count() > before
}

func (r *reloads) load(model string) {
	r.Helper()
	require.NoError(r, r.server.Service().Load(r.Context(), model, infer.LoadOptions{}))
}

// TestReloadedModels: cached answers belong to the content of a model. A model that is loaded
// again finds its answers; a changed model does not, and neither does an ensemble whose composing
// model was changed. After the change is undone they are found again.
func TestReloadedModels(t *testing.T) {
	t.Parallel()
	r := newReloads(t)
	both := func(want bool, why string) {
		t.Helper()
		require.Equal(t, want, r.hit("m", 1), "m, "+why)
		require.Equal(t, want, r.hit("e", 1), "e, "+why)
		require.True(t, r.hit("m", 1))
		require.True(t, r.hit("e", 1))
	}
	both(false, "new")
	for _, name := range []string{"e", "m"} {
		require.NoError(t, r.server.Service().Unload(t.Context(), name, false))
	}
	r.load("m")
	r.load("e")
	both(true, "loaded again")
	r.write("m/1/weights", "second")
	r.load("m")
	both(false, "other weights")
	r.write("m/1/weights", "first")
	r.load("m")
	both(true, "the first weights")
	r.write("m/config.pbtxt", servertest.Identity("INT32", "1", 0)+cachedModel+` parameters { key: "x" value { string_value: "1" } }`)
	r.load("m")
	both(false, "another configuration")
	r.write("m/config.pbtxt", servertest.Identity("INT32", "1", 0)+cachedModel+` instance_group { count: 2 kind: KIND_CPU }`)
	r.load("m")
	both(true, "other instances")
	require.False(t, r.hit("e", 2))
	require.True(t, r.hit("e", 2), "an ensemble keeps answers when its part has other instances")
}

const ensembleOverM = `platform: "ensemble"
max_batch_size: 0
input { name: "IN" data_type: TYPE_INT32 dims: [ 1 ] }
output { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] }
ensemble_scheduling { step { model_name: "m" model_version: -1 input_map { key: "INPUT0" value: "IN" } output_map { key: "OUTPUT0" value: "OUT" } } }
`

// TestCachedEnsemble: a hit of an ensemble does not run its composing models, which may have
// a cache of their own.
func TestCachedEnsemble(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.Model("m", servertest.Identity("INT32", "1", 0)), withCache("65536"),
		servertest.Model("e", ensembleOverM+cachedModel),
		servertest.Model("p", servertest.Identity("INT32", "1", 0)+cachedModel),
		servertest.Model("over", strings.ReplaceAll(ensembleOverM, `"m"`, `"p"`)))
	client, url := newClient(t), "http://"+s.HTTP
	replies := map[string]string{}
	for _, model := range []string{"e", "e", "over", "over"} {
		code, reply, err := post(client, url+"/v2/models/"+model+"/infer", `{"inputs":[{"name":"IN","shape":[1],"datatype":"INT32","data":[7]}]}`)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, code, reply)
		if replies[model] != "" {
			require.Equal(t, replies[model], reply)
		}
		replies[model] = reply
	}
	for model, want := range map[string]string{
		"e":    "inferences 1 executions 1 success 2 fail 0 queue 2 compute_infer 1 cache_hit 1 cache_miss 1",
		"m":    "inferences 1 executions 1 success 1 fail 0 queue 1 compute_infer 1 cache_hit 0 cache_miss 0",
		"over": "inferences 2 executions 2 success 2 fail 0 queue 2 compute_infer 2 cache_hit 0 cache_miss 0",
		"p":    "inferences 1 executions 1 success 2 fail 0 queue 2 compute_infer 1 cache_hit 1 cache_miss 1",
	} {
		require.Equal(t, want, statistics(t, client, url, model), model)
	}
}

// TestNewStartsNothing: New does not connect to the cache.
func TestNewStartsNothing(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	o := server.Default()
	o.Repositories, o.Cache.Name, o.Cache.Settings = []string{t.TempDir()}, "redis", map[string]string{"host": "127.0.0.1", "port": port}
	_, err = server.New(o)
	require.NoError(t, err)
	require.NoError(t, l.(*net.TCPListener).SetDeadline(time.Now().Add(50*time.Millisecond)))
	_, err = l.Accept()
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
}
