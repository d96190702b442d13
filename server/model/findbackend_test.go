package model

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/server/backend"
	"triton/server/backend/plugin"
)

// native is a backend of the program.
type native struct{ name string }

func (native) Load(context.Context, backend.Spec) (backend.Model, error) { return nil, nil }

// shipped is a backend of the program that a folder may replace.
type shipped struct{ native }

func (shipped) Replaceable() bool  { return true }
func (shipped) SettingsOf() string { return "python" }

// host runs backends in folders.
type host struct{ native }

func (host) Runtime(dir string) backend.Backend { return native{"in " + dir} }

// The order and the texts are NVIDIA's, recorded from its server.
func TestFindBackend(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, path := range []string{
		"mine/model.py", "kept/model.py", "kept/libtriton_kept.so", "over/model.py", "host/model.py",
		"packed/model.py", "packed/pb_exec_env_model.py.tar.gz", "plain/libtriton_x.so",
		"lib/libtriton_lib.so", "lib/model.py", "host2/libtriton_host2.so", "wanted/libtriton_wanted.so",
	} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(path)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, path), nil, 0o644))
	}
	b := NewBuilder(Options{BackendDirectory: dir, Backends: backend.Set{
		"python": host{native{"python"}}, "host": native{"host"}, "kept": shipped{native{"kept"}}, "over": shipped{native{"over"}},
		"shipped": shipped{native{"shipped"}}, "host2": native{"host2"}, "wanted": native{"wanted"}, "unmet": native{"unmet"},
	}, BackendSettings: map[string]map[string]string{"wanted": {"plugin": "true"}, "unmet": {"plugin": "true"}}})
	for _, c := range []struct{ backend, runtime, want, settings string }{
		{"host", "", "host", "host"},
		{"host", "libtriton_host.so", "host", "host"},
		{"host", "model.py", "in $/host", "python"},
		{"mine", "", "in $/mine", "python"},
		{"mine", "model.py", "in $/mine", "python"},
		{"packed", "", "in $/packed", "python"},
		{"kept", "", "kept", "python"},
		{"kept", "model.py", "in $/kept", "python"},
		{"over", "", "in $/over", "python"},
		{"shipped", "", "shipped", "python"},
		{"shipped", "model.py", "shipped", "python"},
		{"nosuch", "", "unable to find backend library for backend 'nosuch', try specifying runtime on the model configuration.", ""},
		{"nosuch", "model.py", "unable to find Python backend based backend library 'model.py' for model 'm', searched: '$/nosuch/model.py'", ""},
		{"python", "model.py", "unable to find Python backend based backend library 'model.py' for model 'm', searched: '$/python/model.py'", ""},
		{"mine", "libtriton_mine.so", "unable to find backend library 'libtriton_mine.so' for model 'm', searched: 'v' 'd' '$/mine' ", ""},
		{"mine", "../plain/libtriton_x.so", "backend library name '../plain/libtriton_x.so' escapes backend directory '$/mine', for model 'm', check model config runtime field", ""},
		{"plain", "libtriton_x.so", "$/plain/libtriton_x.so", "plain"},
		{"lib", "", "$/lib/libtriton_lib.so", "lib"},
		{"host2", "", "host2", "host2"},
		{"host2", "libtriton_host2.so", "$/host2/libtriton_host2.so", "host2"},
		{"wanted", "", "$/wanted/libtriton_wanted.so", "wanted"},
		{"unmet", "", "unable to find backend library 'libtriton_unmet.so' for model 'm', searched: 'v' 'd' '$/unmet' ", ""},
	} {
		config := modelconfig.New("", &inferencepb.ModelConfig{Name: "m", Backend: c.backend, Runtime: c.runtime})
		f, err := b.findBackend(config, "v", "d")
		want := strings.ReplaceAll(c.want, "$", dir)
		if c.settings == "" {
			require.EqualError(t, err, want)
			continue
		}
		require.NoError(t, err, c)
		require.Equal(t, c.settings, f.settings, c)
		switch f := f.Backend.(type) {
		case native:
			require.Equal(t, want, f.name, c)
		case shipped:
			require.Equal(t, want, f.name, c)
		case *plugin.Backend:
			require.Equal(t, want, f.Library(), c)
		}
		inFolder := strings.HasPrefix(c.want, "in ")
		require.Equal(t, inFolder || c.runtime == "model.py", config.Runtime == "model.py", c)
		archive := config.Parameters["EXECUTION_ENV_PATH"].GetStringValue()
		require.Equal(t, c.backend == "packed", archive == filepath.Join(dir, "packed", "pb_exec_env_model.py.tar.gz"), c)
	}
	b.opts.Backends = nil
	_, err := b.findBackend(modelconfig.New("", &inferencepb.ModelConfig{Backend: "mine"}))
	require.EqualError(t, err, "the backend 'mine' in "+dir+"/mine is written in Python, which this program does not run")
}
