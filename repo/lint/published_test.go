package lint_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/modelconfig"
	"triton/pkg/modelconfig/requirement"
	"triton/repo"
	"triton/repo/lint"
	"triton/repo/lint/linttest"
)

// largest is the size up to which a file of a published repository is copied.
const largest = 1 << 20

// programs are the files that would run, or whose absence is what a checkout without weights has.
var programs = []string{
	".py", ".onnx", ".pt", ".pt2", ".plan", ".graphdef", ".savedmodel", ".xml", ".bin", ".so", ".json", ".txtpb", ".pkl", ".gz",
}

// repositories returns what is copied of the repositories below a folder, by the path of each. A
// repository is a folder that has a folder with a configuration. Programs and weights are left out,
// and a model without a version, which git does not keep while it is empty, gets one.
func repositories(t *testing.T, root string) map[string]linttest.Files {
	t.Helper()
	all := map[string]linttest.Files{}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != modelconfig.FileName || d.IsDir() {
			return err
		}
		repository := filepath.Dir(filepath.Dir(path))
		if all[repository] == nil {
			all[repository] = linttest.Files{}
		}
		return copyModel(all[repository], filepath.Dir(path))
	}))
	return all
}

func copyModel(to linttest.Files, dir string) error {
	name, versions := filepath.Base(dir), 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rest, err := filepath.Rel(dir, path)
		if err != nil || rest == "." {
			return err
		}
		at := name + "/" + filepath.ToSlash(rest)
		if d.IsDir() {
			if strings.Contains(rest, string(filepath.Separator)) {
				return fs.SkipDir
			}
			if len(modelconfig.VersionsOf([]string{rest})) > 0 {
				versions++
			}
			to[at+"/"] = ""
			return nil
		}
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > largest || slices.Contains(programs, filepath.Ext(rest)) {
			return err
		}
		text, err := os.ReadFile(path)
		to[at] = string(text)
		return err
	})
	if versions == 0 {
		to[name+"/1/"] = ""
	}
	return err
}

// unbuilt is the state of a model without a version that was tried: the reason is in the log.
const unbuilt = "Not loaded: No model version was found"

// reason returns what the log says about a model that was not tried.
func reason(log, name string) string {
	var lines []string
	for line := range strings.Lines(log) {
		var entry struct{ Msg string }
		if json.Unmarshal([]byte(line), &entry) == nil && strings.Contains(entry.Msg, name) {
			lines = append(lines, entry.Msg)
		}
	}
	return cmp.Or(strings.Join(lines, "; "), unbuilt)
}

// TestPublished lints published configurations and gives them to this server: those below the folder
// that TRITON_PUBLISHED names. An error of the linter must be the server's, and if the linter finds
// none, the server must not refuse the configuration either.
func TestPublished(t *testing.T) {
	root := os.Getenv("TRITON_PUBLISHED")
	if root == "" {
		t.Skip("TRITON_PUBLISHED names no folder with configurations")
	}
	backends := servable(t)
	all := repositories(t, root)
	o := serverOptions
	o.Backends = requirement.Backends()
	count := map[string]int{}
	for _, path := range slices.Sorted(maps.Keys(all)) {
		dir := t.TempDir()
		require.NoError(t, all[path].Write(dir))
		found := linted(t, dir, o)
		var log bytes.Buffer
		for name, why := range serveLog(t.Context(), t, backends, dir, slog.New(slog.NewJSONHandler(&log, nil))) {
			if why == unbuilt {
				why = reason(log.String(), name)
			}
			outcome := judge(found[name], why)
			count[outcome]++
			if outcome != bothRefuse && outcome != bothLoad && outcome != undecided {
				t.Errorf("%s: %s/%s\n  the linter: %s\n  the server: %s", outcome, path, name, cmp.Or(strings.Join(messages(found[name]), "; "), "no error"), why)
			}
		}
	}
	for _, outcome := range slices.Sorted(maps.Keys(count)) {
		t.Logf("%4d %s", count[outcome], outcome)
	}
}

// linted returns the errors of each model.
func linted(t *testing.T, dir string, o lint.Options) map[string][]repo.Finding {
	t.Helper()
	models, err := repo.Open(dir)
	require.NoError(t, err)
	found := map[string][]repo.Finding{}
	for _, f := range lint.Check(models, o) {
		if f.Severity == repo.Error {
			found[f.Model] = append(found[f.Model], f)
		}
	}
	return found
}

func messages(found []repo.Finding) (all []string) {
	for _, f := range found {
		all = append(all, f.Rule+" "+f.Msg)
	}
	return all
}

// The outcomes of a published model.
const (
	bothRefuse = "refused, for a reason that the linter gives"
	bothLoad   = "no error, and loads"
	undecided  = "not decided: Python packages are not installed here"
	otherwise  = "refused for another reason"
	falseBad   = "an error, and loads"
	falseGood  = "no error, and refused"
)

func judge(found []repo.Finding, why string) string {
	switch {
	case strings.Contains(why, "needs the Python package"):
		return undecided
	case len(found) > 0 && why == "":
		return falseBad
	case len(found) > 0:
		if slices.ContainsFunc(found, func(f repo.Finding) bool { return gives(f, why) }) {
			return bothRefuse
		}
		return otherwise
	case why == "":
		return bothLoad
	}
	return falseGood
}

// noFile is what backends say when the model file is missing. They look for it each in its way.
var noFile = regexp.MustCompile(`failed to stat file|Python model file not found|there is no model file`)

// gives reports whether a finding is the reason for which a server refuses a model.
func gives(f repo.Finding, why string) bool {
	const cause = "failed with error: "
	if at := strings.Index(f.Msg, cause); at >= 0 && strings.Contains(why, f.Msg[:at]) {
		return true // the composing model is compared itself
	}
	return strings.Contains(why, f.Msg) || f.Rule == "TRN510" && noFile.MatchString(why)
}
