package lint_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"triton/pkg/onnxmodel"
	"triton/pkg/sharedtest"
	"triton/repo"
	"triton/repo/lint"
)

// unreachable are rules of the shared packages that a linted model cannot
// break: the load fills name and instance groups before it checks them.
var unreachable = []string{"TRN101", "TRN401"}

// aboutComments are the rules of ApplyComments, which has tests of its own.
var aboutComments = []string{"TRN004", "TRN005"}

// TestRules runs every testdata/RULE.txtar. The models below bad/ break the
// rule, those below good/ do not; "want" has the findings for bad/. The comment
// may set the number of processors ("cpus: 2") or the interpreter of good/ and bad/
// ("python: python3 /no/python"), or leave out the model files ("no weights"); without an interpreter the test is skipped.
func TestRules(t *testing.T) {
	t.Parallel()
	for _, rule := range lint.Rules() {
		file := filepath.Join("testdata", rule.ID+".txtar")
		if slices.Contains(unreachable, rule.ID) || slices.Contains(aboutComments, rule.ID) {
			require.NoFileExists(t, file)
			continue
		}
		t.Run(rule.ID, func(t *testing.T) {
			t.Parallel()
			testRule(t, rule, file)
		})
	}
}

// pythonVersion is that of the machine.
var pythonVersion = regexp.MustCompile(`Python 3\.\d+`)

func testRule(t *testing.T, rule repo.Rule, file string) {
	archive, err := txtar.ParseFile(file)
	require.NoError(t, err, "every rule has an example")
	o := lint.Options{DefaultMaxBatch: 4}
	if _, n, ok := strings.Cut(string(archive.Comment), "cpus: "); ok {
		o.CPUs, err = strconv.Atoi(strings.TrimSpace(n))
		require.NoError(t, err)
	}
	o.NoWeights = strings.Contains(string(archive.Comment), "no weights")
	badly := o
	if _, text, ok := strings.Cut(string(archive.Comment), "python: "); ok {
		pythons := strings.Fields(text)
		o.Python, badly.Python = pythons[0], pythons[len(pythons)-1]
		if _, err := exec.LookPath(o.Python); err != nil {
			t.Skip("needs python3")
		}
	}
	dir := t.TempDir()
	want := unpack(t, archive, dir)
	has := func(f repo.Finding) bool { return f.Rule == rule.ID }

	good := check(t, filepath.Join(dir, "good"), o)
	require.False(t, slices.ContainsFunc(good, has), "%v", good)
	bad := check(t, filepath.Join(dir, "bad"), badly)
	require.True(t, slices.ContainsFunc(bad, has), "%v", bad)
	known := lint.Rules()
	for _, f := range slices.Concat(good, bad) {
		require.True(t, slices.ContainsFunc(known, func(r repo.Rule) bool {
			return r.ID == f.Rule && r.Severity == f.Severity && r.Doc != ""
		}), "%v is of a rule that is not listed", f)
	}

	var got bytes.Buffer
	require.NoError(t, lint.WriteReport(&got, "text", lint.Report{Findings: bad, Models: 1}))
	text := strings.ReplaceAll(got.String(), filepath.Join(dir, "bad")+"/", "")
	text = pythonVersion.ReplaceAllString(text, "Python 3.x")
	if sharedtest.UpdateGolden() {
		archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return f.Name == "want" })
		archive.Files = append(archive.Files, txtar.File{Name: "want", Data: []byte(text)})
		require.NoError(t, os.WriteFile(file, txtar.Format(archive), 0o644))
		return
	}
	require.Equal(t, want, text)
}

func check(t *testing.T, path string, o lint.Options) []repo.Finding {
	t.Helper()
	models, err := repo.Open(path)
	require.NoError(t, err)
	return lint.Check(models, o)
}

// unpack writes the files of an archive and returns the text of "want".
// ONNX files are written in words, see graph.
func unpack(t *testing.T, a *txtar.Archive, dir string) (want string) {
	t.Helper()
	for _, f := range a.Files {
		if f.Name == "want" {
			want = string(f.Data)
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		data := f.Data
		if filepath.Ext(path) == ".onnx" {
			data = graph(t, string(data))
		}
		require.NoError(t, os.WriteFile(path, data, 0o644))
	}
	return want
}

// graph makes an ONNX file of lines such as "input X FLOAT batch 16", "output Y FLOAT -1 16"
// and "add X X Y", or takes one of pkg/onnxmodel's for "file NAME".
// Other text is kept as it is.
func graph(t *testing.T, text string) []byte {
	t.Helper()
	f := onnxmodel.File{IRVersion: 8, Opsets: []onnxmodel.Opset{{Version: 17}}, Graph: "g"}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch words[0] {
		case "file":
			data, err := os.ReadFile(filepath.Join("../../pkg/onnxmodel/testdata", words[1]))
			require.NoError(t, err)
			return data
		case "add":
			f.Nodes = append(f.Nodes, onnxmodel.Node{Op: "Add", Inputs: words[1:3], Outputs: words[3:]})
		case "input":
			f.Inputs = append(f.Inputs, tensorOf(t, words[1:]))
		case "output":
			f.Outputs = append(f.Outputs, tensorOf(t, words[1:]))
		default:
			return []byte(text)
		}
	}
	var b bytes.Buffer
	require.NoError(t, f.Write(&b))
	return b.Bytes()
}

func tensorOf(t *testing.T, words []string) onnxmodel.Value {
	t.Helper()
	types := map[string]onnxmodel.ElemType{"FLOAT": onnxmodel.Float, "INT32": onnxmodel.Int32, "INT64": onnxmodel.Int64, "BOOL": onnxmodel.Bool}
	elem, ok := types[words[1]]
	require.True(t, ok, "unknown type %s", words[1])
	var dims []any
	for _, w := range words[2:] {
		if n, err := strconv.Atoi(w); err == nil {
			dims = append(dims, n)
		} else {
			dims = append(dims, w)
		}
	}
	return onnxmodel.Tensor(words[0], elem, dims...)
}

// TestCustomConfigs checks the configurations of --model-config-name too. A finding that
// they share with config.pbtxt is reported once.
func TestCustomConfigs(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a[b]*") // not a pattern
	for name, text := range map[string]string{
		"m/config.pbtxt":     `backend: "onnxruntime"`,
		"m/configs/a.pbtxt":  "max_batch_size: -1 backend: \"onnxruntime\"",
		"m/configs/b.pbtxt":  "nothing: 1",
		"m/configs/note.txt": "nothing: 1",
		"m/1/readme":         "",
		"m/2/readme":         "",
		"m/2x/readme":        "",
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	var got []string
	for _, f := range check(t, dir, lint.Options{}) {
		rel, err := filepath.Rel(dir, f.File)
		require.NoError(t, err)
		got = append(got, f.Rule+" "+rel)
	}
	require.Equal(t, []string{
		"TRN510 m/2/model.onnx",
		"TRN502 m/2x",
		"TRN504 m/config.pbtxt",
		"TRN504 m/configs/a.pbtxt",
		"TRN301 m/configs/a.pbtxt",
		"TRN001 m/configs/b.pbtxt",
	}, got)
}

// TestConfigOnly checks a configuration without its model: the rules about the directory are
// skipped.
func TestConfigOnly(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.pbtxt")
	require.NoError(t, os.WriteFile(path, []byte(`name: "elsewhere" input { name: "X" data_type: TYPE_FP32 dims: 0 }`), 0o644))
	found := check(t, path, lint.Options{})
	require.Len(t, found, 1)
	require.Equal(t, "TRN204", found[0].Rule)
	require.Equal(t, 1, found[0].Line)
}

// TestRuleIDs keeps the ids apart: they are part of what users suppress.
func TestRuleIDs(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, r := range lint.Rules() {
		require.Regexp(t, `^TRN\d{3}$`, r.ID)
		require.NotEmpty(t, r.Doc)
		require.False(t, seen[r.ID], r.ID)
		seen[r.ID] = true
	}
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	for _, f := range files {
		require.True(t, seen[strings.TrimSuffix(filepath.Base(f), ".txtar")], "%s is of no rule", f)
	}
}

// Example lists a few rules.
func Example() {
	for _, r := range lint.Rules()[:2] {
		fmt.Println(r.ID, r.Severity, r.Doc)
	}
	// Output:
	// TRN001 error config.pbtxt is protobuf text of a model configuration
	// TRN002 error files can be read
}
