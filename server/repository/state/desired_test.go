package state

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/server/repository/layout"
	"triton/server/store"
)

func id(name string) store.ID { return store.ID{Name: name} }

func ids(names string) []store.ID {
	var all []store.ID
	for _, name := range strings.Fields(names) {
		all = append(all, id(name))
	}
	return all
}

func names(all []store.ID) string {
	var text []string
	for _, id := range all {
		text = append(text, id.Name)
	}
	return strings.Join(text, " ")
}

// content is a model with some parts, whose folder is counted in open.
func content(name, parts string, open *int) *layout.Content {
	*open++
	config := &inferencepb.ModelConfig{}
	if parts != "" {
		config.SchedulingChoice = &inferencepb.ModelConfig_EnsembleScheduling{EnsembleScheduling: &inferencepb.ModelEnsembling{}}
	}
	return &layout.Content{
		From: store.Model{ID: id(name)}, ComposingModels: ids(parts), Config: modelconfig.New("", config),
		Folder: store.NewFolder(name, func() { *open-- }),
	}
}

// nested has the models a, b and c, the ensembles ab and bc, and top over ab and c.
func nested(open *int, topBy, partsBy Requester) *Desired {
	s := NewDesired()
	for name, parts := range map[string]string{"a": "", "b": "", "c": "", "ab": "a b", "bc": "b c", "top": "ab c"} {
		by := partsBy
		if name == "top" || name == "bc" {
			by = topBy
		}
		c := content(name, parts, open)
		s.Add(id(name), by, c)
		c.Folder.Release() // the state holds the folders of ensembles
	}
	return s
}

func TestRemove(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		remove     string
		dependents bool
		partsBy    Requester
		want       string
	}{
		{"top", false, ByStep, "top"},
		{"top", true, ByStep, "top ab a"},             // bc needs b and c
		{"top bc", true, ByStep, "top bc ab c a b"},   // no ensemble needs them
		{"top bc", true, ByStep | ByClient, "top bc"}, // a client requested them too
		{"bc", true, ByStep, "bc"},                    // top needs b and c
		{"unknown a", true, ByStep, "unknown a"},      // removed in any case
		{"top ab bc", false, ByStep, "top ab bc"},
	} {
		open := 0
		s := nested(&open, ByClient, test.partsBy)
		require.Equal(t, 3, open, "the folders of ensembles")
		removed := s.Remove(ids(test.remove), test.dependents)
		require.Equal(t, test.want, names(removed))
		for _, m := range removed {
			require.False(t, s.Has(m))
		}
		s.Clear()
		require.Zero(t, s.Len())
		require.Empty(t, s.users)
		require.Empty(t, s.over)
		require.Empty(t, s.under)
		require.Zero(t, open)
	}
}

// TestAdd: a model without content is not added, and one that was read keeps its content.
func TestAdd(t *testing.T) {
	t.Parallel()
	open := 0
	s := NewDesired()
	s.Add(id("e"), ByPoll, nil)
	require.False(t, s.Has(id("e")))
	first, second := content("e", "a", &open), content("e", "b", &open)
	s.Add(id("e"), ByPoll, first)
	s.Add(id("e"), ByClient, nil)
	require.Same(t, first, s.Content(id("e")))
	s.Add(id("e"), ByClient, second)
	require.Equal(t, ids("b"), s.ComposingModels(id("e")))
	require.Equal(t, []string{"b"}, s.Neighbors("e"), "those of the content before are forgotten")
	require.Empty(t, s.Neighbors("a"))
	require.Empty(t, s.EnsemblesOf(ids("a")))
	first.Folder.Release()
	require.Equal(t, 1, open, "the folder before is given back")
	second.Folder.Release()
	s.Clear()
	require.Zero(t, open)
}

func TestOver(t *testing.T) {
	t.Parallel()
	open := 0
	s := nested(&open, ByClient, ByStep)
	defer s.Clear()
	for models, want := range map[string]string{
		"a": "ab top", "b": "ab bc top", "c": "bc top", "top": "", "ab": "top",
		"ab a":  "top",
		"top a": "ab top", // again, because ab comes before it
	} {
		require.Equal(t, want, names(s.EnsemblesOf(ids(models))), models)
	}
	require.ElementsMatch(t, []string{"ab", "bc"}, s.Neighbors("b"))
	require.ElementsMatch(t, []string{"a", "b", "top"}, s.Neighbors("ab"))
	require.ElementsMatch(t, []string{"a", "b"}, s.Under("ab"))
	require.ElementsMatch(t, []string{"top"}, s.Over("ab"))
}

func TestCycle(t *testing.T) {
	t.Parallel()
	open := 0
	s := nested(&open, ByClient, ByStep)
	defer s.Clear()
	require.NoError(t, s.Cycle(id("top")))
	s.Add(id("a"), ByClient, content("a", "top", &open))
	for model, want := range map[string]string{"a": "a -> ... -> ab -> a", "top": "top -> ... -> a -> top"} {
		require.EqualError(t, s.Cycle(id(model)), "circular dependency between ensembles: "+want)
	}
	require.NoError(t, s.Cycle(id("bc")))
}
