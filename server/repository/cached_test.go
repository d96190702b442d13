package repository

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/cache"
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
	require.Equal(t, 1, strings.Count(out.messages(), "cached responses of this load will not be found by any other"))
}
