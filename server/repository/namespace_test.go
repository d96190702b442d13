package repository

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/backend"
	"triton/server/infer"
	"triton/server/store"
)

// TestEnsemblesInNamespaces: a step's model is the model of the ensemble's own path, else the
// only model of the name. The namespace in the configuration is ignored, as by NVIDIA's server
// 2.51. The completed configuration has the namespace of the model.
func TestEnsemblesInNamespaces(t *testing.T) {
	t.Parallel()
	const reserved = `model_version: -1 model_namespace: "/elsewhere"`
	first := tree(t, map[string]string{
		"a/config.pbtxt": link, "a/1/": "", "mine/config.pbtxt": chain("a"), "mine/1/": "", "far/config.pbtxt": chain("other"), "far/1/": "",
		"said/config.pbtxt": strings.ReplaceAll(chain("a"), "model_version: -1", reserved), "said/1/": "",
	})
	second := tree(t, map[string]string{
		"a/config.pbtxt": link, "a/1/": "", "other/config.pbtxt": link, "other/1/": "", "theirs/config.pbtxt": chain("a"), "theirs/1/": "",
	})
	third := tree(t, map[string]string{"torn/config.pbtxt": chain("a"), "torn/1/": ""})
	r, out, err := open(t, func(o *Options) {
		o.Control, o.Backends, o.Namespacing = ControlExplicit, backend.Set{"python": snake}, true
	}, first, second, third)
	require.NoError(t, err)
	for _, name := range []string{"mine", "said", "far", "theirs"} {
		require.NoError(t, r.Load(t.Context(), name, infer.LoadOptions{}), name)
		require.NoError(t, ask(t, r, name), name)
	}
	require.ErrorContains(t, r.Load(t.Context(), "torn", infer.LoadOptions{}),
		"ensemble "+third+"::torn contains models that are not available or ambiguous: a")
	require.Contains(t, out.messages(), third+"::torn contains models that are not available or ambiguous: a")

	for name, space := range map[string]string{"mine": first, "said": first, "far": second, "theirs": second} {
		m, err := r.Model(name, "")
		require.NoError(t, err)
		require.Equal(t, space, m.Config().GetEnsembleScheduling().GetStep()[0].GetModelNamespace(), name)
		m.Release()
	}
	for id, n := range map[store.ID]uint64{{Namespace: first, Name: "a"}: 2, {Namespace: second, Name: "a"}: 1, {Namespace: second, Name: "other"}: 1} {
		require.Equal(t, n, r.actual.Snapshot().Model(id).Newest().Stats().Counters().Success.Count, id.String())
	}

	// What is unloaded in one path is not in the other.
	require.NoError(t, r.Unload(t.Context(), "mine", false))
	require.NoError(t, r.Unload(t.Context(), "said", true))
	require.Nil(t, r.actual.Snapshot().Model(store.ID{Namespace: first, Name: "a"}).Newest())
	require.NoError(t, ask(t, r, "theirs"))
}

// TestEnsembleOfModelThatComesBack: a step means the only model of its name while the one of
// the ensemble's own path is away, and that one again when it is back.
func TestEnsembleOfModelThatComesBack(t *testing.T) {
	t.Parallel()
	first := tree(t, map[string]string{"a/config.pbtxt": link, "a/1/": "", "mine/config.pbtxt": chain("a"), "mine/1/": ""})
	second := tree(t, map[string]string{"a/config.pbtxt": link, "a/1/": ""})
	r, _, err := open(t, func(o *Options) {
		o.Control, o.Backends, o.Namespacing = ControlExplicit, backend.Set{"python": snake}, true
	}, first, second)
	require.NoError(t, err)
	space := func() string {
		require.NoError(t, r.Load(t.Context(), "mine", infer.LoadOptions{}))
		require.NoError(t, ask(t, r, "mine"))
		m, err := r.Model("mine", "")
		require.NoError(t, err)
		defer m.Release()
		return m.Config().GetEnsembleScheduling().GetStep()[0].GetModelNamespace()
	}
	require.Equal(t, first, space())
	away := filepath.Join(t.TempDir(), "a")
	require.NoError(t, os.Rename(filepath.Join(first, "a"), away))
	require.Equal(t, second, space())
	require.NoError(t, os.Rename(away, filepath.Join(first, "a")))
	require.Equal(t, first, space())
}
