package repository

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/invariant"
	"triton/server/infer"
)

// canary sends requests whose id begins with "c" to the newest version, and all
// others to the one before; it breaks on "panic" and is wrong on "wrong".
type canary struct{}

func (canary) Choose(r *infer.Request, ready []infer.Model) int {
	switch {
	case r.ID == "panic":
		panic("no idea")
	case r.ID == "wrong":
		return 7
	case strings.HasPrefix(r.ID, "c"):
		return len(ready) - 1
	}
	return len(ready) - 2
}

const allVersions = identity + "version_policy { all { } }\n"

// chosen returns the version that answers a request with an id.
func chosen(t *testing.T, r *Repository, version, id string) string {
	t.Helper()
	m, err := r.Model("m", version)
	require.NoError(t, err)
	defer func() { m.Release() }()
	q := infer.NewRequest()
	q.ID = id
	m = infer.Choose(m, q)
	q.Release()
	q.Release()
	resp, err := inferOnce(t, m)
	require.NoError(t, err)
	defer resp.Release()
	require.Equal(t, m.Version(), resp.ModelVersion)
	return resp.ModelVersion
}

// TestChooser: the version is chosen when the request is known, among those that are
// ready; a version that the client names is used as it is.
func TestChooser(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"m/config.pbtxt": allVersions, "m/1/": "", "m/2/": "", "m/3/": ""})
	r, out, err := open(t, func(o *Options) {
		explicit(o)
		o.Startup, o.Chooser = []string{"m"}, canary{}
	}, dir)
	require.NoError(t, err)
	require.Equal(t, "2", chosen(t, r, "", "a"))
	require.Equal(t, "3", chosen(t, r, "", "c"))
	require.Equal(t, "3", chosen(t, r, "", "wrong"))
	require.NotContains(t, out.messages(), "no idea")
	require.Equal(t, "3", chosen(t, r, "", "panic"))
	require.Contains(t, out.messages(), "no idea")
	for _, v := range []string{"1", "2", "3"} {
		require.Equal(t, v, chosen(t, r, v, "a"), "the version of the request")
	}

	m, err := r.Model("m", "")
	require.NoError(t, err)
	require.Equal(t, []string{"1", "2", "3"}, m.Metadata().Versions)
	one := `{"backend":"identity","input":[{"name":"INPUT0","data_type":"TYPE_INT32","dims":[4]}],` +
		`"output":[{"name":"OUTPUT0","data_type":"TYPE_INT32","dims":[4]}],"version_policy":{"specific":{"versions":["1"]}}}`
	require.NoError(t, r.Load(t.Context(), "m", infer.LoadOptions{Config: &one}))
	require.Equal(t, "1", chosen(t, r, "", "a"), "there is no other")
	q := infer.NewRequest()
	late := infer.Choose(m, q)
	require.Equal(t, "3", late.Version(), "the one before has left")
	late.Release()
	q.Release()
	q.Release()
	waitClosed(t, r)
}

// TestChooserDuringReloads chooses while versions are loaded and unloaded: every request is answered
// by a version, and all references are released.
func TestChooserDuringReloads(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"m/config.pbtxt": allVersions, "m/1/": "", "m/2/": ""})
	r, _, err := open(t, func(o *Options) {
		explicit(o)
		o.Startup, o.Chooser = []string{"m"}, canary{}
	}, dir)
	require.NoError(t, err)
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					chosen(t, r, "", "a")
				}
			}
		})
	}
	for i := range 30 {
		config := strings.Replace(three, `,"sequence_batching":{"max_sequence_idle_microseconds":60000000}`, "", 1)
		config = strings.Replace(config, "{", `{"version_policy":{"all":{}},"parameters":{"n":{"string_value":"`+strings.Repeat("x", i)+`"}},`, 1)
		require.NoError(t, r.Load(t.Context(), "m", infer.LoadOptions{Config: &config}))
	}
	close(done)
	wg.Wait()
	waitClosed(t, r)
}

// TestChooserCostsNothing: without a rule, and with one, a choice allocates nothing.
func TestChooserCostsNothing(t *testing.T) {
	if invariant.Enabled {
		t.Skip("the race detector allocates")
	}
	dir := tree(t, map[string]string{"m/config.pbtxt": allVersions, "m/1/": "", "m/2/": ""})
	for name, rule := range map[string]infer.Chooser{"none": nil, "canary": canary{}} {
		r, _, err := open(t, func(o *Options) { o.Chooser = rule }, dir)
		require.NoError(t, err)
		q := infer.NewRequest()
		require.Zero(t, testing.AllocsPerRun(1000, func() {
			m, err := r.Model("m", "")
			if err != nil {
				panic(err)
			}
			infer.Choose(m, q).Release()
		}), name)
		q.Release()
		q.Release()
	}
}
