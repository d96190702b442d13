package repository

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/backend"
	"triton/server/infer"
	"triton/server/repository/state"
	"triton/server/store"
)

func named(name string) store.ID { return store.ID{Name: name} }

// change writes a file with another time than before, however short ago that was.
func change(t *testing.T, dir, name, text string, round int) {
	t.Helper()
	write(t, dir, name, text)
	at := time.Now().Add(time.Duration(round+1) * time.Minute)
	require.NoError(t, os.Chtimes(filepath.Join(dir, filepath.FromSlash(name)), at, at))
}

// relatives has a, b and c, the ensembles ab and bc, and top over ab and c; all are loaded.
func relatives(t *testing.T, part string) (r *Repository, dir string) {
	dir = tree(t, map[string]string{
		"a/config.pbtxt": part, "a/1/": "", "b/config.pbtxt": link, "b/1/": "", "c/config.pbtxt": link, "c/1/": "",
		"ab/config.pbtxt": chain("a", "b"), "ab/1/": "", "bc/config.pbtxt": chain("b", "c"), "bc/1/": "",
		"top/config.pbtxt": chain("ab", "c"), "top/1/": "", "new/config.pbtxt": chain("ab"), "new/1/": "",
	})
	r, _, err := open(t, func(o *Options) {
		o.Control, o.Backends = ControlExplicit, backend.Set{"python": snake, "panics": panics}
		o.Startup = []string{"top", "bc"}
	}, dir)
	require.NoError(t, err)
	return r, dir
}

// TestRelated: an operation holds the models that it changes or depends on, and no others that ensembles
// connect with these.
func TestRelated(t *testing.T) {
	t.Parallel()
	toLoad := func(r *Repository, name string) string {
		l := r.look(t.Context())
		defer l.Release()
		return strings.Join(r.relatedToLoad(t.Context(), l, name, nil, nil).names, " ")
	}
	r, dir := relatives(t, link)
	for name, want := range map[string]string{
		"bc": "b bc c", "ab": "a ab b top", "top": "a ab b c top", "a": "a ab top", "c": "bc c top", "new": "a ab b new", "none": "none",
	} {
		require.Equal(t, want, toLoad(r, name), name)
	}
	for name, want := range map[string][2]string{
		"bc": {"bc", "b bc c"}, "ab": {"ab top", "a ab b top"}, "a": {"a ab top", "a ab top"}, "new": {"new", "new"},
	} {
		require.Equal(t, want[0], strings.Join(r.relatedToUnload(name, false).names, " "), name)
		require.Equal(t, want[1], strings.Join(r.relatedToUnload(name, true).names, " "), name)
	}
	change(t, dir, "c/config.pbtxt", link+"max_batch_size: 0\n", 0)
	require.Equal(t, "b bc c top", toLoad(r, "bc"), "c was changed, so that top is loaded again")
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "b")))
	require.Equal(t, "a ab b new", toLoad(r, "new"), "the load of a model that the store no longer has leaves it as it is")
}

// TestABrokenStep is loaded again with the ensembles over it, unless it broke after their names were locked.
func TestABrokenStep(t *testing.T) {
	t.Parallel()
	r, _ := relatives(t, strings.ReplaceAll(link, "python", "panics"))
	load := func(unseen bool) string {
		l := r.look(t.Context())
		defer l.Release()
		found := r.relatedToLoad(t.Context(), l, "new", nil, nil)
		if unseen {
			found.kept = map[string]bool{"a": true, "ab": true, "b": true}
		}
		all := r.survey(t.Context(), l, edit{added: findings(l, named("new")), composing: true, kept: found.kept})
		var due []string
		for _, f := range all {
			if f.Content != nil {
				due = append(due, f.ID.Name)
			}
		}
		return strings.Join(found.names, " ") + ": " + strings.Join(due, " ")
	}
	require.Equal(t, "a ab b new: new", load(false))
	require.Error(t, ask(t, r, "a")) // all its instances are gone now
	require.Equal(t, "a ab b new top: new a", load(false))
	require.Equal(t, "a ab b new top: new", load(true))
}

// TestEnsemblesBesideChanges loads and unloads ensembles while the model of their step is changed and loaded
// again. What serves in the end was checked against the model that serves.
func TestEnsemblesBesideChanges(t *testing.T) {
	t.Parallel()
	const rounds, ensembles = 40, 4
	part := `backend: "python"
input { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] }
output { name: "OUT" data_type: TYPE_INT32 dims: [ -1 ] label_filename: "labels.txt" }
`
	files := map[string]string{"a/config.pbtxt": part, "a/1/": "", "a/labels.txt": "first\n", "top/config.pbtxt": chain("e0", "a"), "top/1/": ""}
	for i := range ensembles {
		files[fmt.Sprintf("e%d/config.pbtxt", i)], files[fmt.Sprintf("e%d/1/", i)] = chain("a"), ""
	}
	dir := tree(t, files)
	r, _, err := open(t, func(o *Options) {
		o.Control, o.Startup, o.Backends = ControlExplicit, []string{"a"}, backend.Set{"python": snake}
	}, dir)
	require.NoError(t, err)
	for round := range rounds {
		label := fmt.Sprint("round", round)
		var all sync.WaitGroup
		do := func(what func() error) {
			all.Go(func() {
				if err := what(); err != nil {
					t.Error(err)
				}
			})
		}
		change(t, dir, "a/labels.txt", label+"\n", round)
		do(func() error { return r.Load(t.Context(), "a", infer.LoadOptions{}) })
		for i := range ensembles {
			name := fmt.Sprint("e", i)
			if (round+i)%3 == 0 {
				do(func() error { return r.Unload(t.Context(), name, i%2 == 0) })
			} else {
				do(func() error { return r.Load(t.Context(), name, infer.LoadOptions{}) })
			}
		}
		if round%2 == 0 {
			do(func() error { return r.Load(t.Context(), "top", infer.LoadOptions{}) })
		}
		all.Wait()
		now := r.actual.Snapshot()
		for _, m := range now.Models() {
			if v := m.Newest(); v != nil {
				require.Equal(t, []string{label}, v.Labels("OUT"), "%s in round %d", m.ID, round)
			}
		}
		require.Equal(t, round%3 != 0, now.Model(named("e3")).Newest() != nil, "e3")
	}
}

// TestAPollThatWasOvertaken: an ensemble that another poll has added over a model, since a poll found what is
// connected with it, is not loaded again without its name. A later poll changes the model.
func TestAPollThatWasOvertaken(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"a/config.pbtxt": link, "a/1/": "", "e/config.pbtxt": chain("a"), "e/1/": ""})
	r, out, err := open(t, func(o *Options) { o.Control, o.Backends = ControlPoll, backend.Set{"python": snake} }, dir)
	require.NoError(t, err)
	l := r.list(t.Context())
	defer l.Release()
	found := r.survey(t.Context(), l, edit{added: []state.Finding{{ID: named("a"), Again: true}}})
	loads := func() int { return strings.Count(out.messages(), "successfully loaded 'e'") }
	change := func(names ...string) {
		p := pollLoads{r: r, ctx: t.Context(), running: &sync.WaitGroup{}}
		p.startGroup(&group{names: names, found: found})
		p.running.Wait()
	}
	before := loads()
	change("a")
	require.Equal(t, before, loads())
	require.True(t, r.leftBehind.Load(), "a later poll is told")
	change("a", "e") // nothing was left locked
	require.Equal(t, before+1, loads())
	require.False(t, r.leftBehind.Load())
}
