package repository

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/backend"
	"triton/server/infer"
	"triton/server/repository/ondemand"
	"triton/server/store"
)

// demandSpaces opens several repositories with namespaces, with models on demand.
func demandSpaces(t *testing.T, loads *sync.Map, change func(o *Options), paths ...string) *Repository {
	t.Helper()
	r, out, err := open(t, onDemand(loads, func(o *Options) {
		o.Namespacing = true
		o.Backends["python"] = snake
		if change != nil {
			change(o)
		}
	}), paths...)
	require.NoError(t, err, "%s", out.messages())
	t.Cleanup(func() { _ = r.Drain(t.Context()) })
	return r
}

// loadedIDs returns the loaded models by ID.
func loadedIDs(r *Repository) (all []store.ID) {
	for _, m := range r.actual.Snapshot().Models() {
		if m.Newest() != nil {
			all = append(all, m.ID)
		}
	}
	return all
}

// TestNamespacesOnDemand: a request loads the only model of its name, whatever its namespace. A name that
// two namespaces have is refused whether one of them is loaded or not, and idle models of all
// namespaces make room.
func TestNamespacesOnDemand(t *testing.T) {
	t.Parallel()
	first := demandTree(t, map[string]string{"a": "", "twin": ""})
	second := demandTree(t, map[string]string{"b": "", "c": "", "twin": ""})
	var loads sync.Map
	r := demandSpaces(t, &loads, nil, first, second)
	require.NoError(t, request(t, r, "a"))
	require.NoError(t, request(t, r, "b"))
	require.ElementsMatch(t, []store.ID{{Namespace: first, Name: "a"}, {Namespace: second, Name: "b"}}, loadedIDs(r))
	require.NoError(t, request(t, r, "c"), "a or b makes room")
	require.Len(t, loadedIDs(r), 2)
	require.ErrorContains(t, request(t, r, "twin"), "There are 2 identifiers of model 'twin' in global map")
	require.Zero(t, loadsOf(&loads, "twin"))
	require.ErrorContains(t, request(t, r, "nobody"), "unknown model: 'nobody'")

	ready, err := r.ModelReady("twin", "")
	require.NoError(t, err)
	require.False(t, ready, "no request would load it")
	if ready, err = r.ModelReady("a", ""); err == nil {
		require.True(t, ready)
	}
	_, err = infer.Describe(t.Context(), r, "twin", "")
	require.ErrorContains(t, err, "There are 2 identifiers")
	d, err := infer.Describe(t.Context(), r, "a", "")
	require.NoError(t, err)
	require.Equal(t, "a", d.Config().GetName())
	d.Release()

	// A client loads and unloads all models of a name.
	require.NoError(t, r.Load(t.Context(), "twin", infer.LoadOptions{}))
	require.ElementsMatch(t, []store.ID{{Namespace: first, Name: "twin"}, {Namespace: second, Name: "twin"}}, loadedIDs(r))
	require.ErrorContains(t, request(t, r, "twin"), "There are 2 identifiers")
	require.NoError(t, r.Unload(t.Context(), "twin", false))
	require.Empty(t, loadedIDs(r))
}

// TestNewNamespaceOnDemand: a folder that appears is found by the first request for its name, and a
// second one makes the name ambiguous.
func TestNewNamespaceOnDemand(t *testing.T) {
	t.Parallel()
	first, second := demandTree(t, nil), demandTree(t, map[string]string{"late": ""})
	elsewhere := filepath.Join(t.TempDir(), "late")
	require.NoError(t, os.Rename(filepath.Join(second, "late"), elsewhere))
	var loads sync.Map
	r := demandSpaces(t, &loads, nil, first, second)
	require.NoError(t, os.CopyFS(filepath.Join(first, "late"), os.DirFS(elsewhere)))
	require.NoError(t, request(t, r, "late"))
	require.Equal(t, []store.ID{{Namespace: first, Name: "late"}}, loadedIDs(r))
	require.NoError(t, os.Rename(elsewhere, filepath.Join(second, "late")))
	r.Index(false)
	require.ErrorContains(t, request(t, r, "late"), "There are 2 identifiers")
}

// TestEnsemblesOfNamespacesOnDemand: an ensemble is loaded with the models of its own namespace, and both
// leave together; a model of the same name elsewhere is not touched.
func TestEnsemblesOfNamespacesOnDemand(t *testing.T) {
	t.Parallel()
	first := tree(t, map[string]string{"a/config.pbtxt": link, "a/1/": "", "mine/config.pbtxt": chain("a"), "mine/1/": ""})
	second := tree(t, map[string]string{
		"a/config.pbtxt": link, "a/1/": "", "theirs/config.pbtxt": chain("a"), "theirs/1/": "",
	})
	var loads sync.Map
	r := demandSpaces(t, &loads, func(o *Options) {
		o.Backends = backend.Set{"python": snake}
		o.Demand.Pinned = []string{"theirs"}
		o.Demand.Budget = ondemand.Bytes{ondemand.Host: 1 << 30}
	}, first, second)
	require.ElementsMatch(t, []store.ID{{Namespace: second, Name: "a"}, {Namespace: second, Name: "theirs"}}, loadedIDs(r))
	m, err := infer.Acquire(t.Context(), r, "mine", "")
	require.NoError(t, err)
	require.Equal(t, first, m.Config().GetEnsembleScheduling().GetStep()[0].GetModelNamespace())
	m.Release()
	require.Contains(t, loadedIDs(r), store.ID{Namespace: first, Name: "a"})
	_, unloaded := (&demandModels{r}).Unload(r.key(store.ID{Namespace: first, Name: "a"}))
	require.True(t, unloaded)
	require.ElementsMatch(t, []store.ID{{Namespace: second, Name: "a"}, {Namespace: second, Name: "theirs"}}, loadedIDs(r))
}

// TestCallsOfNamespacesOnDemand: a model that another one calls is that of the caller's namespace, also if
// only the other one of the name is loaded.
func TestCallsOfNamespacesOnDemand(t *testing.T) {
	t.Parallel()
	first := demandTree(t, map[string]string{"x": ""})
	second := demandTree(t, map[string]string{"x": "", "only": ""})
	var loads sync.Map
	r := demandSpaces(t, &loads, nil, first, second)
	for _, space := range []string{second, first} {
		c, err := r.submitter(space).Acquire("x", "")
		require.NoError(t, err)
		c.Release()
		require.Contains(t, loadedIDs(r), store.ID{Namespace: space, Name: "x"})
	}
	require.Equal(t, int64(2), loadsOf(&loads, "x"))
	c, err := r.submitter(first).Acquire("only", "")
	require.NoError(t, err)
	c.Release()
	_, err = r.submitter("elsewhere").Acquire("x", "")
	require.ErrorContains(t, err, "There are 2 identifiers")
}
