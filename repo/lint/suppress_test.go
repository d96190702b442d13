package lint_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/repo"
	"triton/repo/lint"
)

// findingAt returns a finding at the first place of a text in the configuration.
func findingAt(rule, config, place string) repo.Finding {
	before, _, ok := strings.Cut(config, place)
	if !ok {
		panic(place)
	}
	return repo.Finding{
		Rule: rule, Model: "m", File: filepath.Join("dir", "m", "config.pbtxt"), Msg: "found",
		Line: strings.Count(before, "\n") + 1, Col: len(before) - strings.LastIndex(before, "\n"),
	}
}

// TestComments suppresses findings by the place of the comment. A finding is "RULE place".
func TestComments(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config string
		found  []string
		want   []string // "RULE message"
	}{
		"above":           {"# triton-lint: ignore TRN310 why\na: 1\nb: 2", []string{"TRN310 a:"}, nil},
		"only this field": {"# triton-lint: ignore TRN310 why\na: 1\nb: 2", []string{"TRN310 a:", "TRN310 b:"}, []string{"TRN310 found"}},
		"other rule": {
			"# triton-lint: ignore TRN310 why\na: 1",
			[]string{"TRN311 a:"},
			[]string{"TRN004 the comment suppresses TRN310, which is not found", "TRN311 found"},
		},
		"two rules":       {"a: 1 # triton-lint: ignore TRN310, TRN311 why", []string{"TRN310 a:", "TRN311 a:"}, nil},
		"no reason":       {"a: 1 # triton-lint: ignore TRN310", []string{"TRN310 a:"}, nil},
		"behind, not a":   {"a: 1 b: 2 # triton-lint: ignore TRN310", []string{"TRN310 a:", "TRN310 b:"}, []string{"TRN310 found"}},
		"whole block":     {"# triton-lint: ignore TRN310\na {\n b { c: 1 }\n}", []string{"TRN310 c:"}, nil},
		"opening":         {"a { # triton-lint: ignore TRN310\n b: 1\n}", []string{"TRN310 b:"}, nil},
		"element":         {"a [ # list\n { b: 1 },\n # triton-lint: ignore TRN310\n { c: 1 } ]", []string{"TRN310 b:", "TRN310 c:"}, []string{"TRN310 found"}},
		"scalar element":  {"a: [ 1,\n 2, # triton-lint: ignore TRN310\n 3 ]", []string{"TRN310 2,", "TRN310 3 "}, []string{"TRN310 found"}},
		"unused":          {"\n  # triton-lint: ignore TRN310 why\n  a: 1", nil, []string{"TRN004 the comment suppresses TRN310, which is not found"}},
		"unused, not run": {"# triton-lint: ignore TRN310 why\na: 1", []string{"TRN001 a:"}, []string{"TRN001 found"}},
		"machine's":       {"# triton-lint: ignore TRN411 why\na: 1", nil, nil},
		"unknown rule":    {"# triton-lint: ignore TRN999 why\na: 1", nil, []string{"TRN005 there is no rule TRN999"}},
		"no rule":         {"# triton-lint: ignore\na: 1", nil, []string{"TRN005 the comment names no rule"}},
		"unknown word":    {"# triton-lint: disable TRN310\na: 1", nil, []string{`TRN005 unknown instruction "disable" in a triton-lint comment`}},
		"no field":        {"a: 1\n\n# triton-lint: ignore TRN310", []string{"TRN310 a:"}, []string{"TRN310 found", "TRN005 the comment is neither above nor behind a field"}},
		"model":           {"a: 1\n# triton-lint: ignore-model TRN310 why", []string{"TRN310 a:", "TRN310 1"}, nil},
		"in a string":     {`a: "# triton-lint: ignore TRN310"`, []string{"TRN310 a:"}, []string{"TRN310 found"}},
		"own rules":       {"# triton-lint: ignore TRN310\n# triton-lint: ignore TRN004\na: 1", nil, []string{"TRN004 the comment suppresses TRN310, which is not found", "TRN004 the comment suppresses TRN004, which is not found"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model, err := repo.OpenText(filepath.Join("dir", "m", "config.pbtxt"), []byte(c.config))
			require.NoError(t, err)
			model.ConfigOnly = false
			var found []repo.Finding
			for _, f := range c.found {
				rule, place, _ := strings.Cut(f, " ")
				found = append(found, findingAt(rule, c.config, place))
			}
			kept, err := lint.ApplyComments([]repo.Model{model}, found)
			require.NoError(t, err)
			var got []string
			for _, f := range kept {
				got = append(got, f.Rule+" "+f.Msg)
			}
			require.Equal(t, c.want, got)
		})
	}
}

// TestModelComment suppresses findings about the files of the model, and of no other model.
func TestModelComment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, m := range []string{"m", "n"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, m, "configs"), 0o755))
	}
	config := filepath.Join(dir, "m", "config.pbtxt")
	require.NoError(t, os.WriteFile(config, []byte("# triton-lint: ignore-model TRN502 kept for a rollback"), 0o644))
	custom := filepath.Join(dir, "m", "configs", "small.pbtxt")
	require.NoError(t, os.WriteFile(custom, []byte("a: 1 # triton-lint: ignore TRN310"), 0o644))
	models := []repo.Model{
		{Name: "m", Dir: filepath.Join(dir, "m"), ConfigFile: config},
		{Name: "n", Dir: filepath.Join(dir, "n"), ConfigFile: filepath.Join(dir, "n", "config.pbtxt")},
	}
	kept, err := lint.ApplyComments(models, []repo.Finding{
		{Rule: "TRN502", Model: "m", File: filepath.Join(dir, "m", "2x")},
		{Rule: "TRN502", Model: "n", File: filepath.Join(dir, "n", "2x")},
		{Rule: "TRN310", Model: "m", File: custom, Line: 1, Col: 1},
	})
	require.NoError(t, err)
	require.Len(t, kept, 1)
	require.Equal(t, "n", kept[0].Model)
}

// TestBaseline accepts the findings of an earlier run after lines have moved, and from any
// directory.
func TestBaseline(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "baseline.json")
	in := func(name string, line int, msg string) repo.Finding {
		return repo.Finding{Rule: "TRN310", File: filepath.Join(dir, "models", name), Line: line, Msg: msg}
	}
	old := []repo.Finding{in("a", 1, "x"), in("a", 2, "x"), in("b/config.pbtxt", 1, "gone"), in("c/config.pbtxt", 1, "not looked at")}
	models := []repo.Model{{Name: "b", Dir: filepath.Join(dir, "models", "b")}}
	var text bytes.Buffer
	require.NoError(t, lint.WriteBaseline(&text, file, old))
	require.NoError(t, os.WriteFile(file, text.Bytes(), 0o644))
	require.NotContains(t, text.String(), dir, "paths are those from the folder of the baseline")

	kept, fixed, err := lint.ApplyBaseline(file, models, []repo.Finding{in("a", 7, "x"), in("a", 8, "x"), in("a", 9, "x"), in("b", 1, "new")})
	require.NoError(t, err)
	require.Equal(t, 1, fixed)
	require.Equal(t, []repo.Finding{in("a", 9, "x"), in("b", 1, "new")}, kept)

	_, _, err = lint.ApplyBaseline(filepath.Join(dir, "none"), nil, nil)
	require.ErrorContains(t, err, "--write-baseline writes it")
	for _, wrong := range []string{"{", `{"version": 2}`} {
		require.NoError(t, os.WriteFile(file, []byte(wrong), 0o644))
		_, _, err = lint.ApplyBaseline(file, nil, nil)
		require.ErrorContains(t, err, "--write-baseline")
	}
}

// FuzzComments reads any configuration.
func FuzzComments(f *testing.F) {
	f.Add("# triton-lint: ignore TRN310 a\na { # triton-lint: ignore TRN001,TRN999\n b: [ 1, # triton-lint: ignore-model\n 2 ] }")
	f.Fuzz(func(t *testing.T, text string) {
		m := repo.Model{Name: "m", Dir: "m", ConfigFile: "m/config.pbtxt", Texts: map[string][]byte{"m/config.pbtxt": []byte(text)}}
		found := []repo.Finding{{Rule: "TRN310", File: "m/config.pbtxt", Line: 2, Col: 3}, {Rule: "TRN310", File: "m/config.pbtxt", Line: 1 << 30}}
		_, err := lint.ApplyComments([]repo.Model{m}, found)
		require.NoError(t, err)
	})
}
