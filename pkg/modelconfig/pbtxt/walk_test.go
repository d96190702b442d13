package pbtxt_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/modelconfig/pbtxt"
)

// TestWalk compares the paths and places of the fields with those of the reader.
func TestWalk(t *testing.T) {
	t.Parallel()
	const text = `name: "m" # c
input [ { name: "a" dims: [ 1, 2 ] }, { name: "b"
  dims: 3 dims: 4 } ] input { name: "c" reshape { shape: [ ] } }
parameters { key: "k" value { string_value: "v" } }
unknown: 1
dynamic_batching { priority_queue_policy { key: 2 value { max_queue_size: 3 } } }`
	require.Equal(t, []string{
		"name", "input", "input[0]", "input[0].name", "input[0].dims", "input[0].dims[0]", "input[0].dims[1]",
		"input[1]", "input[1].name", "input[1].dims", "input[1].dims[0]", "input[1].dims", "input[1].dims[1]",
		"input", "input[2]", "input[2].name", "input[2].reshape", "input[2].reshape.shape",
		"parameters", `parameters["k"]`, `parameters["k"].string_value`,
		"dynamic_batching", "dynamic_batching.priority_queue_policy", `dynamic_batching.priority_queue_policy["2"]`,
		`dynamic_batching.priority_queue_policy["2"].max_queue_size`,
	}, paths(t, text))
	comparePlaces(t, strings.Replace(text, "unknown: 1", "", 1))
}

func paths(t *testing.T, text string) []string {
	t.Helper()
	var list []string
	pbtxt.Walk(pbtxt.Parse([]byte(text)), (&inferencepb.ModelConfig{}).ProtoReflect().Descriptor(), func(n pbtxt.Node) bool {
		list = append(list, n.Path)
		return true
	})
	return list
}

// comparePlaces wants the first place of every path to be the position of modelconfig.
func comparePlaces(t *testing.T, text string) {
	t.Helper()
	c, err := modelconfig.Parse("f", []byte(text))
	require.NoError(t, err)
	seen := map[string]bool{}
	pbtxt.Walk(pbtxt.Parse([]byte(text)), (&inferencepb.ModelConfig{}).ProtoReflect().Descriptor(), func(n pbtxt.Node) bool {
		if seen[n.Path] || strings.ContainsAny(n.Path, `"\`) { // keys of maps may be written twice, or with escapes
			return true
		}
		seen[n.Path] = true
		start := n.Field.Start
		if n.Element && n.Field.Value.Kind == pbtxt.List {
			start = n.Value.Start
		}
		line := strings.Count(text[:start], "\n") + 1
		col := start - strings.LastIndexByte(text[:start], '\n')
		require.Equal(t, modelconfig.Position{Line: line, Col: col}, c.Position(n.Path), n.Path)
		require.True(t, c.Has(n.Path), n.Path)
		return true
	})
}

// TestUnfinished reads texts that are being written.
func TestUnfinished(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"backend: \nmax_batch_size: 8":            {"backend", "max_batch_size"},
		"input { na":                              {"input", "input[0]"},
		"input [ { dims: [ 1, \n output { } name": {"input", "input[0]", "input[0].dims", "input[0].dims[0]", "input[0].name"},
		"} name: \"x":                             {"name"},
		"dynamic_batching { } } name: 1":          {"dynamic_batching", "name"},
	} {
		require.Equal(t, want, paths(t, text), text)
	}
}

// FuzzParse reads any text: all places are in it, and those of a configuration are the reader's.
func FuzzParse(f *testing.F) {
	f.Add("name: \"m\" # c\ninput [ { name: 'a' dims: [ 1, 2 ] }, < name: \"b\" > ] [a.b/c]: 1 x: -inf")
	f.Add("input { name: \"a\" \"b\" # c\n dims: 0x1f dims: 1e+5f } } ] , ; { \"")
	f.Fuzz(func(t *testing.T, text string) {
		tree := pbtxt.Parse([]byte(text))
		var fields func([]*pbtxt.Field)
		var value func(*pbtxt.Value)
		value = func(v *pbtxt.Value) {
			require.True(t, 0 <= v.Start && v.Start < v.End && v.End <= len(text))
			fields(v.Fields)
			for _, e := range v.Values {
				value(e)
			}
		}
		fields = func(list []*pbtxt.Field) {
			for _, f := range list {
				require.True(t, 0 <= f.Start && f.Start < f.End && f.End <= len(text))
				if f.Value != nil {
					value(f.Value)
				}
			}
		}
		fields(tree.Fields)
		for _, c := range tree.Comments() {
			require.True(t, strings.HasPrefix(text[c.Start:], c.Text))
		}
		if _, err := modelconfig.Parse("f", []byte(text)); err == nil {
			comparePlaces(t, text)
		}
	})
}
