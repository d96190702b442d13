package repository

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/infer"
)

// TestRegister serves a model from a path that was registered while the server runs, with another
// name than its folder's.
func TestRegister(t *testing.T) {
	t.Parallel()
	later := t.TempDir()
	for _, name := range []string{"a", "b"} {
		require.NoError(t, os.MkdirAll(filepath.Join(later, name, "1"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(later, name, "config.pbtxt"), []byte("name: \""+name+"\"\nbackend: \"identity\"\n"+
			"input { name: \"INPUT0\" data_type: TYPE_INT32 dims: [ 4 ] }\noutput { name: \"OUTPUT0\" data_type: TYPE_INT32 dims: [ 4 ] }\n"), 0o644))
	}
	r, _, err := open(t, func(o *Options) { o.Control = ControlExplicit }, t.TempDir())
	require.NoError(t, err)
	require.NoError(t, r.Register(later, map[string]string{"a": "alias"}))
	require.EqualError(t, r.Register(later, nil), "model repository '"+later+"' has already been registered")
	require.EqualError(t, r.Register(t.TempDir(), map[string]string{"x": "alias"}), "failed to register 'alias', there is a conflicting mapping for 'alias'")
	require.EqualError(t, r.Register("/none", nil), "failed to register '/none', repository not found")

	for _, name := range []string{"alias", "b"} {
		require.NoError(t, r.Load(t.Context(), name, infer.LoadOptions{}))
		m, err := r.Model(name, "")
		require.NoError(t, err)
		require.Equal(t, name, m.Config().GetName())
		m.Release()
	}
	require.EqualError(t, r.Load(t.Context(), "a", infer.LoadOptions{}), "failed to load 'a', failed to poll from model repository")

	require.NoError(t, r.Unregister(later))
	require.EqualError(t, r.Unregister(later), "failed to unregister '"+later+"', repository not found")
	m, err := r.Model("alias", "")
	require.NoError(t, err, "what is loaded goes on")
	m.Release()
	require.Error(t, r.Load(t.Context(), "b", infer.LoadOptions{}))

	none, _, err := open(t, nil, later)
	require.NoError(t, err)
	require.EqualError(t, none.Register(t.TempDir(), nil), "repository registration is not allowed if model control mode is not EXPLICIT")
}

// TestRegisterHidesAFolder: a folder whose name is given to another folder of its path is
// ignored, unless it has another name itself.
func TestRegisterHidesAFolder(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		names, from map[string]string
	}{
		"one":      {map[string]string{"a": "b"}, map[string]string{"b": "a"}},
		"exchange": {map[string]string{"a": "b", "b": "a"}, map[string]string{"a": "b", "b": "a"}},
		"chain":    {map[string]string{"a": "b", "b": "c"}, map[string]string{"b": "a", "c": "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{}
			for _, folder := range []string{"a", "b"} {
				files[folder+"/config.pbtxt"] = with(identity, "folder: "+folder)
				files[folder+"/1/"] = ""
			}
			later := tree(t, files)
			r, out, err := open(t, explicit, t.TempDir())
			require.NoError(t, err)
			require.NoError(t, r.Register(later, test.names))
			for name, folder := range test.from {
				require.NoError(t, r.Load(t.Context(), name, infer.LoadOptions{}), "%s", out.messages())
				m, err := r.Model(name, "")
				require.NoError(t, err)
				require.Equal(t, folder, m.Config().GetParameters()["folder"].GetStringValue())
				m.Release()
			}
		})
	}
}
