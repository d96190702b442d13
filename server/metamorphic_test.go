package server_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/repo/example"
	"triton/server"
	"triton/server/servertest"
)

// variant is one way to schedule the same models.
type variant struct {
	name     string
	maxBatch int
	extra    string // for every model that has instances
	flags    []servertest.Option
	cached   bool // hits must be seen
}

var caching = []servertest.Option{servertest.With(func(o *server.Options) {
	o.Cache.Name, o.Cache.Settings = "local", map[string]string{"size": "4194304"}
})}

// variants schedule differently and must answer the same.
var variants = []variant{
	{name: "plain", maxBatch: 4},
	{name: "three instances", maxBatch: 4, extra: "instance_group { kind: KIND_CPU count: 3 }"},
	{name: "batching", maxBatch: 8, extra: "dynamic_batching { }"},
	{
		name: "batching with a delay", maxBatch: 16,
		extra: "dynamic_batching { preferred_batch_size: [ 4, 7 ] max_queue_delay_microseconds: 2000 } instance_group { kind: KIND_CPU count: 2 }",
	},
	{
		name: "responses in order", maxBatch: 8,
		extra: "dynamic_batching { preserve_ordering: true max_queue_delay_microseconds: 500 } instance_group { kind: KIND_CPU count: 3 }",
	},
	{
		name: "priorities", maxBatch: 8,
		extra: "dynamic_batching { priority_levels: 3 default_priority_level: 2 max_queue_delay_microseconds: 500\n" +
			"default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 200 allow_timeout_override: true } }",
	},
	{
		name: "instances share a resource", maxBatch: 8, flags: []servertest.Option{servertest.With(func(o *server.Options) { o.RateLimiter.Enabled = true })},
		extra: "dynamic_batching { } instance_group { kind: KIND_CPU count: 2 rate_limiter { resources { name: \"core\" global: true count: 1 } } }",
	},
	{name: "a response cache", maxBatch: 8, extra: "dynamic_batching { } response_cache { enable: true }", flags: caching, cached: true},
	{
		name: "equal requests are one", maxBatch: 8, flags: caching, cached: true,
		extra: "response_cache { enable: true } parameters { key: \"response_cache_single_flight\" value { string_value: \"true\" } }",
	},
}

// TestSameAnswers is metamorphic: many clients send one random stream of valid and invalid
// requests to servers that batch, wait, order, cache and run instances differently, over every
// transport, with tensors inline and in shared memory. Every answer equals the answer that a
// plain server gave to one client that sent one request after the other, and is arithmetically
// right.
func TestSameAnswers(t *testing.T) {
	t.Parallel()
	lib, _ := filepath.Glob(filepath.Join("..", "lib", "libonnxruntime*"))
	if len(lib) == 0 && os.Getenv("TRITON_ONNXRUNTIME_LIBRARY") == "" {
		t.Skip("ONNX Runtime is not in lib/: run `make onnxruntime`")
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	talk := conversations(rand.New(rand.NewPCG(seed, 0)), 120)
	want := make([]string, len(talk))
	alone := inCore(variants[0].start(t))
	for i, c := range talk {
		answers := c.as(7).ask(t, alone)
		for k, right := range c.right() {
			if right == "" {
				require.Contains(t, answers[k], "error: ", "%s", c)
			} else {
				require.Equal(t, right, answers[k], "seed %d: %s", seed, c)
			}
		}
		want[i] = plainID(c.as(7), answers)
	}
	require.Greater(t, different(want), len(want)/2, "the stream asks for different things")
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			s := v.start(t)
			var clients sync.WaitGroup
			n := uint64(0)
			for name, ask := range transports(t, s) {
				n++
				client := n
				clients.Go(func() {
					rng := rand.New(rand.NewPCG(seed, client))
					for _, i := range rng.Perm(len(talk)) {
						c := talk[i].as(1 + client<<16 + rng.Uint64N(1<<16))
						if got := plainID(c, c.ask(t, ask)); got != want[i] {
							t.Errorf("seed %d, conversation %d over %s:\n%s\ngot  %s\nwant %s", seed, i, name, c, got, want[i])
							return
						}
					}
				})
			}
			clients.Wait()
			if v.cached {
				require.Positive(t, hits(t, s), "equal requests were sent")
			}
		})
	}
}

// ask sends all questions of a conversation.
func (c conversation) ask(t *testing.T, ask asker) []string {
	var all []string
	for _, q := range c {
		all = append(all, ask(t, q))
	}
	return all
}

// plainID returns the answers as one text, without the correlation id that errors
// name.
func plainID(c conversation, answers []string) string {
	text := strings.Join(answers, "\n")
	if c[0].position == nil {
		return text
	}
	return strings.ReplaceAll(text, fmt.Sprintf("sequence %d ", c[0].position.id), "sequence X ")
}

func different(all []string) int {
	seen := map[string]bool{}
	for _, s := range all {
		seen[s] = true
	}
	return len(seen)
}

// start serves the models of the stream.
func (v variant) start(t *testing.T) *servertest.Server {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, example.Write(t.Context(), dir, example.Options{Seed: 1, Models: []string{"simple", "onnx_accumulator"}}))
	config := fmt.Sprintf("backend: \"onnxruntime\"\nmax_batch_size: %d\n", v.maxBatch)
	for _, name := range []string{"input", "output"} {
		for n := range 2 {
			config += fmt.Sprintf("%s { name: %q data_type: TYPE_INT32 dims: [ 16 ] }\n", name, fmt.Sprint(strings.ToUpper(name), n))
		}
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "simple", "config.pbtxt"), []byte(config+v.extra), 0o644))
	state, err := os.ReadFile(filepath.Join(dir, "onnx_accumulator", "config.pbtxt"))
	require.NoError(t, err)
	state = patient(t, state)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "onnx_accumulator", "config.pbtxt"), state, 0o644))
	oldest := strings.ReplaceAll(string(state), "direct { }", "oldest { max_candidate_sequences: 3 }")
	require.NotEqual(t, string(state), oldest)
	require.NoError(t, os.CopyFS(filepath.Join(dir, "candidates"), os.DirFS(filepath.Join(dir, "onnx_accumulator"))))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "candidates", "config.pbtxt"), []byte(strings.ReplaceAll(oldest, "onnx_accumulator", "candidates")), 0o644))
	return servertest.Start(t, append(v.flags, servertest.Repository(dir),
		servertest.With(func(o *server.Options) { o.ClientSharedMemory = true }),
		servertest.Model("numbers", servertest.Identity("INT32", "-1, 2", v.maxBatch)+v.extra),
		servertest.Model("both", fmt.Sprintf(connected, v.maxBatch)),
		servertest.Model("echo", servertest.Identity("INT32", "16", v.maxBatch)+v.extra),
		servertest.Model("slots", fmt.Sprintf(slots, v.maxBatch)),
		servertest.Model("words", servertest.Identity("STRING", "-1", v.maxBatch)+v.extra),
	)...)
}

// connected is an ensemble: the outputs of "simple", one of them through an
// identity.
const connected = `platform: "ensemble"
max_batch_size: %d
input { name: "INPUT0" data_type: TYPE_INT32 dims: [ 16 ] }
input { name: "INPUT1" data_type: TYPE_INT32 dims: [ 16 ] }
output { name: "SUM" data_type: TYPE_INT32 dims: [ 16 ] }
output { name: "DIFFERENCE" data_type: TYPE_INT32 dims: [ 16 ] }
ensemble_scheduling {
  step {
    model_name: "simple" model_version: -1
    input_map { key: "INPUT0" value: "INPUT0" } input_map { key: "INPUT1" value: "INPUT1" }
    output_map { key: "OUTPUT0" value: "between" } output_map { key: "OUTPUT1" value: "DIFFERENCE" }
  }
  step {
    model_name: "echo" model_version: -1
    input_map { key: "INPUT0" value: "between" } output_map { key: "OUTPUT0" value: "SUM" }
  }
}
`

// slots is a model that keeps a sum for each row of its batches.
const slots = `backend: "sequence"
max_batch_size: %d
input { name: "INPUT" data_type: TYPE_INT32 dims: [ 1 ] }
output { name: "OUTPUT" data_type: TYPE_INT32 dims: [ 1 ] }
sequence_batching {
  max_sequence_idle_microseconds: 60000000
  control_input { name: "START" control { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] } }
  control_input { name: "READY" control { kind: CONTROL_SEQUENCE_READY int32_false_true: [ 0, 1 ] } }
}
`

// hits returns how many answers came from the response cache.
func hits(t *testing.T, s *servertest.Server) (n uint64) {
	t.Helper()
	all, err := s.Service().Statistics("", "")
	require.NoError(t, err)
	for _, m := range all.GetModelStats() {
		n += m.GetInferenceStats().GetCacheHit().GetCount()
	}
	return n
}
