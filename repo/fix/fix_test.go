package fix_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"triton/pkg/modelconfig/pbtxt"
	"triton/pkg/onnxmodel"
	"triton/pkg/sharedtest"
	"triton/repo"
	"triton/repo/fix"
	"triton/repo/lint"
)

// TestAll corrects the repository of every testdata/*.txtar. "want" is the text of m/config.pbtxt
// after that, below the list of the corrections and of the findings that are left.
func TestAll(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, file := range files {
		rule, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".txtar"), "_")
		seen[rule] = true
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			testFile(t, file)
		})
	}
	for _, rule := range fix.Rules() {
		require.True(t, seen[rule] || rule == "TRN712", "rule %s has no test", rule) // TRN712 is in TRN105
	}
}

func testFile(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	require.NoError(t, err)
	dir := t.TempDir()
	var want string
	for _, f := range archive.Files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		switch {
		case f.Name == "want":
			want = string(f.Data)
			continue
		case filepath.Ext(path) == ".onnx":
			f.Data = graph(t, string(f.Data))
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, f.Data, 0o644))
	}
	models, err := repo.Open(dir)
	require.NoError(t, err)
	before := check(t, models)
	texts, err := fix.All(models, func(models []repo.Model) ([]repo.Finding, error) { return check(t, models), nil })
	require.NoError(t, err)
	require.Len(t, texts, 1)
	text := texts[0]
	left := check(t, models)
	require.Less(t, len(left), len(before)+1)

	var got strings.Builder
	for _, f := range text.Fixes {
		got.WriteString("fixed " + f + "\n")
	}
	for _, f := range left {
		got.WriteString("left " + f.Rule + " " + strconv.Itoa(f.Line) + ": " + f.Msg + "\n")
	}
	got.WriteString("\n")
	got.Write(text.After)
	if sharedtest.UpdateGolden() {
		archive, err = txtar.ParseFile(file)
		require.NoError(t, err)
		archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return f.Name == "want" })
		archive.Files = append(archive.Files, txtar.File{Name: "want", Data: []byte(got.String())})
		require.NoError(t, os.WriteFile(file, txtar.Format(archive), 0o644))
		want = got.String()
	}
	require.Equal(t, want, got.String())

	if out, err := pbtxt.Format("f", text.After); err == nil {
		require.Equal(t, string(text.After), string(out), "the result is formatted")
	}
	if !strings.Contains(file, "TRN004") {
		require.Equal(t, comments(text.Before), comments(text.After))
	}
	again, err := fix.All(models, func(models []repo.Model) ([]repo.Finding, error) { return check(t, models), nil })
	require.NoError(t, err)
	require.Empty(t, again, "corrections converge")
}

func comments(src []byte) []string {
	var list []string
	for _, c := range pbtxt.Parse(src).Comments() {
		list = append(list, c.Text)
	}
	slices.Sort(list)
	return list
}

func check(t *testing.T, models []repo.Model) []repo.Finding {
	t.Helper()
	found, err := lint.ApplyComments(models, lint.Check(models, lint.Options{DefaultMaxBatch: 4}))
	require.NoError(t, err)
	return found
}

// graph makes an ONNX file of lines such as "input X FLOAT batch 16".
func graph(t *testing.T, text string) []byte {
	t.Helper()
	f := onnxmodel.File{IRVersion: 8, Opsets: []onnxmodel.Opset{{Version: 17}}, Graph: "g"}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		var dims []any
		for _, w := range words[3:] {
			if n, err := strconv.Atoi(w); err == nil {
				dims = append(dims, n)
			} else {
				dims = append(dims, w)
			}
		}
		value := onnxmodel.Tensor(words[1], onnxmodel.Float, dims...)
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

// FuzzAll corrects any text: nothing breaks, corrections end, and a text without findings stays.
func FuzzAll(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(f, err)
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		require.NoError(f, err)
		f.Add(a.Files[0].Data)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		m, err := repo.OpenText(filepath.Join("absent", "m", "config.pbtxt"), src)
		require.NoError(t, err)
		models := []repo.Model{m}
		check := func(models []repo.Model) ([]repo.Finding, error) { return check(t, models), nil }
		texts, err := fix.All(models, check)
		require.NoError(t, err)
		if len(texts) == 0 {
			return
		}
		again, err := fix.All(models, check)
		require.NoError(t, err)
		require.Empty(t, again)
	})
}
