package server_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server"
	"triton/server/servertest"
)

// TestMetricsOfNamespaces: two models of one name differ by their repositories.
func TestMetricsOfNamespaces(t *testing.T) {
	t.Parallel()
	var opts []servertest.Option
	var paths []string
	for range 2 {
		path := t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Join(path, "twin", "1"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(path, "twin", "config.pbtxt"), []byte(servertest.Identity("INT32", "1", 0)), 0o644))
		opts, paths = append(opts, servertest.Repository(path)), append(paths, path)
	}
	s := servertest.Start(t, append(opts, servertest.With(func(o *server.Options) {
		o.Metrics.GPU, o.Models.Namespacing = false, true
	}))...)
	_, page := get(t, newClient(t), "http://"+s.Metrics+"/metrics")
	for _, path := range paths {
		require.Contains(t, page, `nv_inference_count{model="twin",namespace="`+path+`",version="1"} 0`)
		require.Contains(t, page, `triton_model_memory_bytes{device="cpu",kind="estimated",model="twin",namespace="`+path+`",version="1"} `)
	}
}
