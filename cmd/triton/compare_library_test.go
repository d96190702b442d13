package main_test

import (
	"os"
	"path/filepath"
	"testing"

	"triton/server/conformance"
)

// TestCompareLibrary asks our server while NVIDIA's own library for Python models, with its
// own stub processes, runs in it unmodified. The answers must be those that NVIDIA's server
// gives with the same library: where ours differ by design, which are those of our own
// Python backend, the library answers as recorded.
func TestCompareLibrary(t *testing.T) {
	dir := oracle(t)
	t.Setenv(cpuOnly, "1")
	t.Setenv("PATH", filepath.Join(dir, "venv", "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("LD_LIBRARY_PATH", filepath.Join(dir, "tritonserver", "lib"))
	var n tally
	for _, s := range suites(t) {
		if s.Needs["repository"] == "" {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			flags := append(flagsOf(t, s), "--backend-directory", filepath.Join(dir, "tritonserver", "backends"), "--backend-config=python,plugin=true")
			n.check(t, s, dial(t, serve(t, conformanceModels(t, s, false), flags...)), func(step *conformance.Step) string { return step.Answer })
		})
	}
	t.Logf("%d cases, %d questions", n.cases.Load(), n.questions.Load())
}
