package lint_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/onnxmodel"
	"triton/pkg/sharedtest"
	"triton/repo"
	"triton/repo/lint"
)

// TestExamples lints the examples of every page: the bad one has findings of this rule only, the
// good one has none.
func TestExamples(t *testing.T) {
	t.Parallel()
	for _, rule := range lint.Rules() {
		t.Run(rule.ID, func(t *testing.T) {
			t.Parallel()
			page, err := lint.Explain(rule.ID)
			require.NoError(t, err)
			require.NotEmpty(t, page.Why)
			require.NotEmpty(t, page.Correction)
			require.False(t, strings.HasSuffix(page.Correction, "."), "a sentence is made of it")
			if slices.Contains(unreachable, rule.ID) {
				require.Empty(t, page.Bad)
				return
			}
			bad, good := exampleOptions(t, page)
			found := checkExample(t, page.Bad, bad)
			require.NotEmpty(t, found)
			for _, f := range found {
				if f.Rule != page.Settings["also"] { // a mistake that cannot be made alone
					require.Equal(t, rule.ID, f.Rule, "%+v", f)
					require.Equal(t, rule.Severity, f.Severity)
				}
			}
			require.Contains(t, rulesOf(found), rule.ID)
			require.Empty(t, checkExample(t, page.Good, good))
		})
	}
}

// exampleOptions returns the settings of a page for the bad and the good example.
func exampleOptions(t *testing.T, p lint.Page) (bad, good lint.Options) {
	t.Helper()
	good.DefaultMaxBatch = 4
	for key, value := range p.Settings {
		switch key {
		case "cpus":
			n, err := strconv.Atoi(value)
			require.NoError(t, err)
			good.CPUs = n
		case "python":
			good.Python = strings.Fields(value)[0]
			if _, err := exec.LookPath(good.Python); err != nil {
				t.Skip("needs python3")
			}
		case "also":
		case "weights":
			good.NoWeights = true
		default:
			t.Fatalf("unknown setting %s", key)
		}
	}
	bad = good
	if words := strings.Fields(p.Settings["python"]); len(words) == 2 {
		bad.Python = words[1]
	}
	return bad, good
}

func rulesOf(found []repo.Finding) []string {
	var ids []string
	for _, f := range found {
		ids = append(ids, f.Rule)
	}
	return ids
}

func checkExample(t *testing.T, files []lint.ExampleFile, o lint.Options) []repo.Finding {
	t.Helper()
	require.NotEmpty(t, files)
	dir := t.TempDir()
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		text := []byte(f.Text)
		if filepath.Ext(path) == ".onnx" {
			text = exampleGraph(t, f.Text)
		}
		require.NoError(t, os.WriteFile(path, text, 0o644))
	}
	models, err := repo.Open(dir)
	require.NoError(t, err)
	found, err := lint.ApplyComments(models, lint.Check(models, o))
	require.NoError(t, err)
	return found
}

// exampleGraph makes an ONNX file of lines such as "input X FLOAT batch 16", or takes one of
// pkg/onnxmodel's for "file NAME". Other text is kept as it is.
func exampleGraph(t *testing.T, text string) []byte {
	t.Helper()
	types := map[string]onnxmodel.ElemType{"FLOAT": onnxmodel.Float, "INT32": onnxmodel.Int32, "INT64": onnxmodel.Int64, "BOOL": onnxmodel.Bool}
	f := onnxmodel.File{IRVersion: 8, Opsets: []onnxmodel.Opset{{Version: 17}}, Graph: "g"}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if words[0] == "file" {
			data, err := os.ReadFile(filepath.Join("../../pkg/onnxmodel/testdata", words[1]))
			require.NoError(t, err)
			return data
		}
		if words[0] != "input" && words[0] != "output" {
			return []byte(text)
		}
		var dims []any
		for _, w := range words[3:] {
			if n, err := strconv.Atoi(w); err == nil {
				dims = append(dims, n)
			} else {
				dims = append(dims, w)
			}
		}
		require.Contains(t, types, words[2])
		value := onnxmodel.Tensor(words[1], types[words[2]], dims...)
		if words[0] == "input" {
			f.Inputs = append(f.Inputs, value)
		} else {
			f.Outputs = append(f.Outputs, value)
		}
	}
	var b bytes.Buffer
	require.NoError(t, f.Write(&b))
	return b.Bytes()
}

// TestPagesDocument keeps docs/rules.md and docs/rules/ as the pages are.
func TestPagesDocument(t *testing.T) {
	t.Parallel()
	docs := filepath.Join("..", "..", "docs")
	groups := map[string][]lint.Page{}
	var files []string
	for _, rule := range lint.Rules() {
		page, err := lint.Explain(rule.ID)
		require.NoError(t, err)
		groups[rule.ID[:4]] = append(groups[rule.ID[:4]], page)
		file := filepath.Join(docs, "rules", rule.ID+".md")
		files = append(files, file)
		if sharedtest.UpdateGolden() {
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
			require.NoError(t, os.WriteFile(file, []byte(page.Markdown()), 0o644))
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, page.Markdown(), string(text))
	}
	for group, list := range groups {
		sharedtest.GoldenSection(t, filepath.Join(docs, "rules.md"), group+"00", lint.Table(list))
	}
	have, err := filepath.Glob(filepath.Join(docs, "rules", "*"))
	require.NoError(t, err)
	require.Equal(t, files, have, "one page for each rule")
}

// TestExplain names the nearest rule.
func TestExplain(t *testing.T) {
	t.Parallel()
	page, err := lint.Explain("trn310")
	require.NoError(t, err)
	require.Equal(t, "TRN310", page.ID)
	_, err = lint.Explain("TRN3100")
	require.ErrorContains(t, err, `there is no rule "TRN3100"; did you mean TRN310?`)
	require.Equal(t, "https://x.example/rules/TRN310.md", lint.PageURI("https://x.example/rules/", "TRN310"))
	require.Empty(t, lint.PageURI("", "TRN310"))
}
