package repository

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/backend/backendtest"
	"triton/server/cache"
	"triton/server/infer"
)

// TestNoFingerprint: a model whose files cannot all be read serves, with a cache
// of its own.
func TestNoFingerprint(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"m/config.pbtxt": identity + `max_batch_size: 4 dynamic_batching { max_queue_delay_microseconds: 100 } response_cache { enable: true }`, "m/1/": "",
	})
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "m", "1", "weights")))
	r, out, err := open(t, func(o *Options) { o.Cache = cache.NewLocal(1<<20, o.Pool) }, dir)
	require.NoError(t, err)
	require.Equal(t, "m:1 READY", states(r))
	require.Equal(t, 1, strings.Count(out.messages(), "the cached responses of this model version will not be used after it is loaded again"))
}

// constant is a backend that answers with the contents of the file "value" of its version.
var constant = backendtest.Func(func(_ context.Context, s backend.Spec) (backend.Model, error) {
	text, err := os.ReadFile(filepath.Join(s.Dir, "value"))
	return &backendtest.Model{Answer: func(*infer.Request) *infer.Response {
		resp := infer.NewResponse()
		resp.Add("OUT", tensor.Int32, tensor.Shape{1}, tensor.NewData(tensor.HeapBuffer([]byte{text[0], 0, 0, 0})))
		return resp
	}}, err
})

// answerOf returns the output of a model for a constant input.
func answerOf(t *testing.T, r *Repository, name string) string {
	t.Helper()
	m, err := r.Model(name, "")
	require.NoError(t, err)
	defer m.Release()
	q := infer.NewRequest()
	defer q.Release()
	in := q.AddInput()
	in.Name, in.DataType, in.Shape = "IN", tensor.Int32, tensor.Shape{2}
	in.Data = tensor.NewData(tensor.HeapBuffer(make([]byte, 8)))
	resp, err := m.Infer(t.Context(), q)
	require.NoError(t, err)
	defer resp.Release()
	value, whole := resp.Outputs[0].Data.Contiguous()
	require.True(t, whole)
	return string(value[:1])
}

// TestCacheOfAnOlderPart: an ensemble that cannot be loaded again with a changed part
// answers with that part, not with cached answers of the part before.
func TestCacheOfAnOlderPart(t *testing.T) {
	t.Parallel()
	config := func(step string) string { return chain(step) + "response_cache { enable: true }\n" }
	dir := tree(t, map[string]string{
		"p/config.pbtxt": strings.ReplaceAll(link, "python", "constant"), "p/1/value": "1",
		"e/config.pbtxt": config("p"), "e/1/": "", "over/config.pbtxt": config("e"), "over/1/": "",
	})
	r, _, err := open(t, func(o *Options) {
		explicit(o)
		o.Cache, o.Backends["constant"] = cache.NewLocal(1<<20, o.Pool), constant
	}, dir)
	t.Cleanup(func() { _ = r.opts.Cache.Close() })
	require.NoError(t, err)
	require.NoError(t, r.Load(t.Context(), "over", infer.LoadOptions{}))
	hits := func() uint64 { return r.actual.Snapshot().Named("e")[0].Newest().Stats().Counters().CacheHit.Count }
	for range 2 {
		require.Equal(t, "1", answerOf(t, r, "e"))
		require.Equal(t, "1", answerOf(t, r, "over"))
	}
	before := hits()
	require.NotZero(t, before)

	write(t, dir, "p/1/value", "2")
	write(t, dir, "e/config.pbtxt", strings.Replace(config("p"), `name: "OUT"`, `name: "OUT" label_filename: "none"`, 1))
	touch(t, filepath.Join(dir, "p/1/value"))
	touch(t, filepath.Join(dir, "e/config.pbtxt"))
	require.Error(t, r.Load(t.Context(), "e", infer.LoadOptions{}))
	for range 2 {
		require.Equal(t, "2", answerOf(t, r, "p"))
		require.Equal(t, "2", answerOf(t, r, "e"), "by the composing model that serves")
		require.Equal(t, "2", answerOf(t, r, "over"), "by the composing model two levels below")
	}
	require.Equal(t, before, hits())
}
