package repository

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/status"
	"triton/server/infer"
)

// TestLook: in explicit control a load looks up the models that it names. The index knows them also when
// the store can no longer be listed.
func TestLook(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"m/config.pbtxt": identity, "m/1/": ""})
	r, out, err := open(t, func(o *Options) { o.Control, o.Startup = ControlExplicit, []string{"m"} }, dir)
	require.NoError(t, err)
	for _, name := range []string{"late", "a"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name, "1"), 0o755))
		write(t, dir, name+"/config.pbtxt", identity)
		require.NoError(t, r.Load(t.Context(), name, infer.LoadOptions{}))
	}
	l := r.look(t.Context())
	require.True(t, l.Looks())
	require.Len(t, l.Named("late"), 1)
	require.Empty(t, l.Named("../"+filepath.Base(dir)+"/m"))
	l.Release()
	require.Equal(t, status.Internal, status.CodeOf(r.Load(t.Context(), "unknown", infer.LoadOptions{})))
	require.NotContains(t, out.messages(), "reading model repository")

	require.NoError(t, os.Rename(dir, dir+"-gone"))
	t.Cleanup(func() { require.NoError(t, os.Rename(dir+"-gone", dir)) }) // the test removes its folder
	var names []string
	for _, m := range r.Index(false).Models {
		names = append(names, m.Name+" "+m.State)
	}
	require.Equal(t, []string{"a READY", "late READY", "m READY"}, names)
	require.Equal(t, status.Internal, status.CodeOf(r.Load(t.Context(), "m", infer.LoadOptions{})), "as with a listing")
	require.Contains(t, out.messages(), "reading model repository")
}
