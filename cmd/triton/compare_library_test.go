package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCompareLibrary asks our server while NVIDIA's own library for Python models, with its
// own stub processes, runs in it unmodified. The answers must be those that NVIDIA's server
// gives with the same library. Where a file gives a reason for a difference, which may lie
// in the server or in our own Python backend, either answer is right. A request that the
// library releases without an answer is one more: its client would wait for ever.
func TestCompareLibrary(t *testing.T) {
	dir := oracle(t)
	t.Setenv(cpuOnly, "1")
	t.Setenv("PATH", filepath.Join(dir, "venv", "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("LD_LIBRARY_PATH", filepath.Join(dir, "tritonserver", "lib"))
	questions, equal := 0, 0
	for _, s := range suites(t) {
		if !strings.HasPrefix(s.Name, "python_") {
			continue // the others ask for no Python, or for the control of models
		}
		t.Run(s.Name, func(t *testing.T) {
			flags := append(flagsOf(t, s), "--backend-directory", filepath.Join(dir, "tritonserver", "backends"), "--backend-config=python,plugin=true")
			cmd := exec.Command(tritonBinary(t), append([]string{"serve", "--model-repository", conformanceModels(t, s, false), "--exit-timeout-secs=3"}, flags...)...)
			to := dial(t, startNVIDIA(t, cmd)) // the library's stubs outlive a server that is killed
			for _, c := range s.Cases {
				for _, step := range c.Steps {
					got, err := to.Ask(t.Context(), step)
					require.NoError(t, err, "%s: %s", s.Name, c.Name)
					questions++
					switch {
					case got == step.Answer:
						equal++
					case step.Reason != "" && (got == step.Ours || neverAnswered(step.Answer, got)):
					default:
						t.Errorf("%s: %s\n--- sent\n%s\n--- NVIDIA\n%s--- ours\n%s", step.Where(s), c.Name, strings.Join(step.Ask, "\n"), step.Answer, got)
					}
				}
			}
		})
	}
	t.Logf("%d questions, %d answers as in NVIDIA's server", questions, equal)
}

// neverAnswered reports whether NVIDIA's server gives no answer, and ours says why there is
// none.
func neverAnswered(theirs, got string) bool {
	return strings.Contains(theirs, "no answer") && strings.Contains(got, "without a final response")
}
