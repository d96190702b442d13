package lint_test

import (
	"cmp"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/modelconfig"
	"triton/pkg/modelconfig/requirement"
	"triton/repo"
	"triton/repo/lint"
	"triton/repo/lint/linttest"
)

// emptyBackend is a backend that takes every model, needs no file and answers without outputs.
const emptyBackend = `
int TRITONBACKEND_ResponseNew(void **response, void *request);
int TRITONBACKEND_ResponseSend(void *response, unsigned flags, void *error);
int TRITONBACKEND_RequestRelease(void *request, unsigned flags);

void *TRITONBACKEND_ModelInstanceExecute(void *instance, void **requests, unsigned count) {
	for (unsigned i = 0; i < count; i++) {
		void *response;
		TRITONBACKEND_ResponseNew(&response, requests[i]);
		TRITONBACKEND_ResponseSend(response, 1, 0);
		TRITONBACKEND_RequestRelease(requests[i], 1);
	}
	return 0;
}`

// emptyBackends returns a folder with a backend of each name that does nothing, so that NVIDIA's server
// refuses a model for its configuration only.
func emptyBackends(t *testing.T, names []string) string {
	t.Helper()
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("needs a C compiler")
	}
	dir := t.TempDir()
	source, library := filepath.Join(dir, "empty.c"), filepath.Join(dir, "empty.so")
	require.NoError(t, os.WriteFile(source, []byte(emptyBackend), 0o644))
	out, err := exec.CommandContext(t.Context(), compiler, "-shared", "-fPIC", "-o", library, source).CombinedOutput()
	require.NoError(t, err, string(out))
	text, err := os.ReadFile(library)
	require.NoError(t, err)
	for _, name := range names {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name, "libtriton_"+name+".so"), text, 0o755))
	}
	return dir
}

// backendsOf returns the names of the backends that the configurations need.
func backendsOf(all map[string]linttest.Files) []string {
	names := requirement.Backends()
	for _, files := range all {
		for path, text := range files {
			if filepath.Base(path) != modelconfig.FileName {
				continue
			}
			if c, err := modelconfig.Parse(path, []byte(text)); err == nil && filepath.IsLocal(c.Backend) {
				names = append(names, c.Backend)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// aboutConfig reports whether a finding is about the configuration itself: NVIDIA's server decides it
// without the backend and the model's files.
func aboutConfig(f repo.Finding) bool {
	if f.Rule == "TRN713" && strings.HasSuffix(f.Msg, "the model file is missing") {
		return false
	}
	return !slices.ContainsFunc([]string{"TRN510", "TRN514", "TRN515", "TRN6", "TRN8", "TRN9"}, func(family string) bool { return strings.HasPrefix(f.Rule, family) })
}

// polled is the start of the reply about a model that is refused before it is loaded: the reason is
// in the log.
const polled = "failed to poll from model repository"

// capability is the least CUDA compute capability in the messages of NVIDIA's server that is tested,
// and in those of its newest release.
var capability = strings.NewReplacer("compatibility of 6.000000", "compatibility of 7.500000")

// newErrors returns the errors that the server logs after the first n bytes, once there is one.
func (o *oracle) newErrors(t *testing.T, n int) string {
	t.Helper()
	var lines []string
	require.Eventually(t, func() bool {
		for line := range strings.Lines(o.log.String()[n:]) {
			if strings.HasPrefix(line, "E") && strings.HasSuffix(line, "\n") {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
		return len(lines) > 0
	}, time.Minute, 10*time.Millisecond)
	return strings.Join(lines, "\n")
}

// words are what NVIDIA's server says of a mistake without its details, by the rule.
var words = map[string]string{
	"TRN001": "failed to read text proto from",
	"TRN711": "no version is available",
	"TRN830": "for repo agent 'checksum', searched: ", // it has no agents
}

// filesOnly is the outcome of a model whose files are missing in the published repository: the server
// that is asked does not need them.
const filesOnly = "an error about model files only, and the configuration is taken"

// judgeOracle judges as judge does, for a server that reads no model files.
func judgeOracle(found []repo.Finding, why string) string {
	outcome := judge(found, why)
	switch {
	case outcome == falseBad && !slices.ContainsFunc(found, aboutConfig):
		return filesOnly
	case outcome == otherwise && slices.ContainsFunc(found, func(f repo.Finding) bool { return words[f.Rule] != "" && strings.Contains(why, words[f.Rule]) }):
		return bothRefuse
	}
	return outcome
}

// TestPublishedOracle asks NVIDIA's server about the published configurations, with backends that
// take every model. What the linter finds wrong with a configuration, it must refuse for the same
// reason, and it must not refuse another one.
func TestPublishedOracle(t *testing.T) {
	root := os.Getenv("TRITON_PUBLISHED")
	if root == "" {
		t.Skip("TRITON_PUBLISHED names no folder with configurations")
	}
	all := repositories(t, root)
	names := backendsOf(all)
	backends := emptyBackends(t, names)
	o := startOracle(t, "--backend-directory="+backends)
	defer func() { o.stop() }()
	options := lint.Options{DefaultMaxBatch: 4, Machine: &modelconfig.Machine{}, Backends: names}
	count := map[string]int{}
	for _, path := range slices.Sorted(maps.Keys(all)) {
		dir := t.TempDir()
		require.NoError(t, all[path].Write(dir))
		found := linted(t, dir, options)
		logged := len(o.log.String())
		loaded, err := o.load(t, all[path])
		if err != nil { // it ends now and then while it unloads models: ask again
			t.Logf("%s ends or blocks NVIDIA's server: %s", path, err)
			o.stop()
			o, logged = startOracle(t, "--backend-directory="+backends), 0
			loaded, err = o.load(t, all[path])
		}
		require.NoError(t, err, path)
		for name, why := range loaded {
			if strings.Contains(why, polled) {
				why = o.newErrors(t, logged)
			}
			why = capability.Replace(strings.NewReplacer(o.dir, dir, backends+"/", "").Replace(why))
			outcome := judgeOracle(found[name], why)
			count[outcome]++
			if !slices.Contains([]string{bothRefuse, bothLoad, filesOnly}, outcome) {
				t.Errorf("%s: %s/%s\n  the linter: %s\n  the server: %s", outcome, path, name, cmp.Or(strings.Join(messages(found[name]), "; "), "no error"), why)
			}
		}
	}
	for _, outcome := range slices.Sorted(maps.Keys(count)) {
		t.Logf("%4d %s", count[outcome], outcome)
	}
}
