package repository

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/server/cache"
)

// TestFingerprint: servers that share a cache find each other's answers when
// their models are the same, wherever the files lie and whatever their age.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	make := func(change func(v *version)) string {
		v := &version{
			model: "m", text: "1", dir: tree(t, map[string]string{"model.onnx": "weights", "more/part": "x"}),
			config: &inferencepb.ModelConfig{Name: "m", Backend: "identity", Parameters: map[string]*inferencepb.ModelParameter{
				"a": {StringValue: "1"}, "b": {StringValue: "2"}, "c": {StringValue: "3"},
			}},
		}
		change(v)
		print, err := fingerprint(v)
		require.NoError(t, err)
		return print
	}
	write := func(v *version, name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(v.dir, name), []byte(text), 0o644))
	}
	base := make(func(*version) {})
	for name, test := range map[string]struct {
		change func(v *version)
		same   bool
	}{
		"nothing":    {func(*version) {}, true},
		"instances":  {func(v *version) { v.config.InstanceGroup = []*inferencepb.ModelInstanceGroup{{Count: 7}} }, true},
		"name":       {func(v *version) { v.model = "n" }, false},
		"version":    {func(v *version) { v.text = "2" }, false},
		"parameter":  {func(v *version) { v.config.Parameters["a"].StringValue = "9" }, false},
		"batch":      {func(v *version) { v.config.MaxBatchSize = 1 }, false},
		"content":    {func(v *version) { write(v, "model.onnx", "Weights") }, false},
		"more":       {func(v *version) { write(v, "z", "") }, false},
		"moved text": {func(v *version) { write(v, "model.onnx", "weight"); write(v, "more/part", "sx") }, false},
	} {
		require.Equal(t, test.same, make(test.change) == base, name)
	}
	v := &version{config: proto.CloneOf(&inferencepb.ModelConfig{}), dir: filepath.Join(t.TempDir(), "gone")}
	_, err := fingerprint(v)
	require.Error(t, err)
}

// A version that cannot have its cache leaves nothing behind, no timer either.
func TestNoFingerprint(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"m/config.pbtxt": identity + `max_batch_size: 4 dynamic_batching { max_queue_delay_microseconds: 100 } response_cache { enable: true }`, "m/1/": "",
	})
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "m", "1", "weights")))
	r, _, err := open(t, func(o *Options) {
		o.Caching = Caching{Cache: cache.NewLocal(1<<20, o.Pool), Shared: true}
	}, dir)
	require.Error(t, err)
	require.Contains(t, r.Index(false).Models[0].Reason, "reading model 'm' for the response cache")
}

// TestFingerprintOfLinks: what a link leads to counts as if it lay there.
func TestFingerprintOfLinks(t *testing.T) {
	t.Parallel()
	link := func(to, at string) { require.NoError(t, os.Symlink(to, at)) }
	print := func(dir string) string {
		text, err := fingerprint(&version{model: "m", text: "1", dir: dir, config: &inferencepb.ModelConfig{}})
		require.NoError(t, err)
		return text
	}
	real := tree(t, map[string]string{"model.onnx": "weights", "more/part": "x"})
	others := tree(t, map[string]string{"model.onnx": "other weights", "more/part": "x"})
	links := t.TempDir()
	link(real, filepath.Join(links, "1"))
	link(others, filepath.Join(links, "2"))
	require.Equal(t, print(real), print(filepath.Join(links, "1")))
	require.NotEqual(t, print(real), print(filepath.Join(links, "2")))

	inside := tree(t, map[string]string{"model.onnx": "weights"})
	link(filepath.Join(real, "more"), filepath.Join(inside, "more"))
	require.Equal(t, print(real), print(inside))
	link(inside, filepath.Join(inside, "circle"))
	_, err := fingerprint(&version{dir: inside, config: &inferencepb.ModelConfig{}})
	require.Error(t, err)
}
