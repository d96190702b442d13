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
	sequence string // the strategy of sequences
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
	{name: "a response cache", maxBatch: 8, extra: "dynamic_batching { } response_cache { enable: true }", flags: caching, cached: true},
	{
		name: "equal requests are one", maxBatch: 8, flags: caching, cached: true,
		extra: "response_cache { enable: true } parameters { key: \"response_cache_single_flight\" value { string_value: \"true\" } }",
	},
}

// TestSameAnswers is metamorphic: one random stream of requests, good and bad
// ones, is asked of servers that batch, wait, order, cache and run instances
// differently, over every transport, with tensors inline and in shared memory,
// by many clients at the same time. Every answer is what a plain server gave to
// one caller who asked one thing after the other.
func TestSameAnswers(t *testing.T) {
	t.Parallel()
	lib, _ := filepath.Glob(filepath.Join("..", "lib", "libonnxruntime*"))
	if len(lib) == 0 && os.Getenv("TRITON_ONNXRUNTIME_LIBRARY") == "" {
		t.Skip("ONNX Runtime is not in lib/: run `make onnxruntime`")
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	asked := questions(rand.New(rand.NewPCG(seed, 0)), 120)
	want := make([]string, len(asked))
	alone := variants[0].start(t)
	for i, q := range asked {
		want[i] = inCore(alone)(t, q)
	}
	require.Greater(t, different(want), len(want)/2, "the stream asks for different things")
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			s := v.start(t)
			var clients sync.WaitGroup
			for name, ask := range transports(t, s) {
				clients.Go(func() {
					for _, i := range rand.New(rand.NewPCG(seed, uint64(len(name)))).Perm(len(asked)) {
						if got := ask(t, asked[i]); got != want[i] {
							t.Errorf("seed %d, question %d over %s:\n%s\ngot  %s\nwant %s", seed, i, name, asked[i], got, want[i])
							return
						}
					}
				})
			}
			clients.Wait()
			if v.cached {
				require.Positive(t, hits(t, s), "equal requests were asked")
			}
		})
	}
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
	require.NoError(t, example.Write(t.Context(), dir, example.Options{Seed: 1, Models: []string{"simple"}}))
	config := fmt.Sprintf("backend: \"onnxruntime\"\nmax_batch_size: %d\n", v.maxBatch)
	for _, name := range []string{"input", "output"} {
		for n := range 2 {
			config += fmt.Sprintf("%s { name: %q data_type: TYPE_INT32 dims: [ 16 ] }\n", name, fmt.Sprint(strings.ToUpper(name), n))
		}
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "simple", "config.pbtxt"), []byte(config+v.extra), 0o644))
	return servertest.Start(t, append(v.flags, servertest.Repository(dir),
		servertest.With(func(o *server.Options) { o.ClientMemory = true }),
		servertest.Model("numbers", servertest.Identity("INT32", "-1, 2", v.maxBatch)+v.extra),
		servertest.Model("words", servertest.Identity("STRING", "-1", v.maxBatch)+v.extra),
	)...)
}

// hits is how many answers came from the response cache.
func hits(t *testing.T, s *servertest.Server) (n uint64) {
	t.Helper()
	all, err := s.Service().Statistics("", "")
	require.NoError(t, err)
	for _, m := range all.GetModelStats() {
		n += m.GetInferenceStats().GetCacheHit().GetCount()
	}
	return n
}
