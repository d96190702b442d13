package repository

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/infer"
)

// TestResolve: a call of another model that names no version gets the one of the rules, or the newest
// where that is not ready. Rules learn of every change of a model.
func TestResolve(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"m/config.pbtxt": allVersions, "m/1/": "", "m/2/": ""})
	rules := map[string][2]string{"chat": {"m", "1"}, "gone": {"m", "9"}}
	var mu sync.Mutex
	var changes []string
	r, _, err := open(t, func(o *Options) {
		explicit(o)
		o.Startup = []string{"m"}
		o.Resolve = func(name string) (string, string) {
			mu.Lock()
			defer mu.Unlock()
			if at, ok := rules[name]; ok {
				return at[0], at[1]
			}
			return name, ""
		}
		o.Changed = func(name string, c *inferencepb.ModelConfig) {
			mu.Lock()
			defer mu.Unlock()
			changes = append(changes, name+" "+c.GetName())
		}
	}, dir)
	require.NoError(t, err)
	called := func(name, version string) string {
		t.Helper()
		c, err := r.actual.Submitter("").Acquire(name, version)
		require.NoError(t, err)
		defer c.Release()
		return c.Name() + ":" + c.Version()
	}
	require.Equal(t, "m:2", called("m", ""))
	require.Equal(t, "m:1", called("chat", ""))
	require.Equal(t, "m:2", called("m", "2"))
	mu.Lock()
	rules["m"] = [2]string{"m", "1"}
	require.Equal(t, "m m", changes[len(changes)-1])
	mu.Unlock()
	require.Equal(t, "m:1", called("m", ""))
	require.Equal(t, "m:2", called("m", "2"), "a call that names a version")
	mu.Lock()
	rules["m"] = [2]string{"m", "9"}
	mu.Unlock()
	require.Equal(t, "m:2", called("m", ""), "the version of the rules is not ready")
	_, err = r.actual.Submitter("").Acquire("gone", "")
	require.ErrorContains(t, err, "Request for unknown model: 'gone' is not found")

	one := `{"backend":"identity","input":[{"name":"INPUT0","data_type":"TYPE_INT32","dims":[4]}],` +
		`"output":[{"name":"OUTPUT0","data_type":"TYPE_INT32","dims":[4]}],"version_policy":{"specific":{"versions":["1"]}}}`
	require.NoError(t, r.Load(t.Context(), "m", infer.LoadOptions{Config: &one}))
	require.NoError(t, r.Unload(t.Context(), "m", false))
	mu.Lock()
	require.Contains(t, changes, "m ", "no version is ready")
	mu.Unlock()
	waitClosed(t, r)
}
