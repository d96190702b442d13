package main_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/servertest/conformance"
)

// `make conformance` sends every request of server/servertest/conformance. The answers of our server
// must be the recorded ones, or our own where the file gives a reason.
// A foreign server is named by TRITON_CONFORMANCE_HTTP and TRITON_CONFORMANCE_GRPC;
// the models and flags it needs are in the heads of the files and in models().
//
//	go test ./cmd/triton -run TestConformanceOracle -record   NVIDIA's answers, with TRITON_ORACLE set
//	go test ./cmd/triton -run TestConformanceBinary -record   ours, where there is a reason
var record = flag.Bool("record", false, "write the answers into the files of server/servertest/conformance")

// flagsOf returns the flags of the server that a file requires with "server: <name>".
func flagsOf(t *testing.T, s *conformance.Suite) []string {
	t.Helper()
	if s.Needs["repository"] != "" {
		return pythonFlags(s)
	}
	switch s.Needs["server"] {
	case "explicit":
		return []string{"--model-control-mode=explicit", "--load-model=simple", "--load-model=identity_fp32", "--allow-client-shm=true"}
	case "trace":
		return []string{"--trace-config=triton,file=" + filepath.Join(t.TempDir(), "trace.json")}
	}
	return nil
}

func suites(t *testing.T) []*conformance.Suite {
	t.Helper()
	all, err := conformance.Suites()
	require.NoError(t, err)
	return all
}

// cpuOnly keeps the answers the same on machines with GPUs.
const cpuOnly = "TRITON_SERVER_CPU_ONLY"

// tally counts the outcomes of the questions of one run.
type tally struct{ cases, questions, explained atomic.Int64 }

// check sends all requests of a suite.
func (n *tally) check(t *testing.T, s *conformance.Suite, to *conformance.Target, want func(*conformance.Step) string) {
	t.Helper()
	for _, c := range s.Cases {
		n.cases.Add(1)
		for _, step := range c.Steps {
			n.questions.Add(1)
			if step.Reason != "" {
				n.explained.Add(1)
			}
			w := want(step)
			got, err := to.Ask(t.Context(), step.Expecting(w))
			require.NoError(t, err, "%s: %s", s.Name, c.Name)
			if w != got {
				t.Errorf("%s: %s\n--- %s\n--- sent\n%s\n--- expected\n%s--- got\n%s", step.Where(s), c.Name, difference(w, got), strings.Join(step.Ask, "\n"), w, got)
			}
		}
	}
}

// difference shows where two answers begin to differ: one line of JSON may be very long.
func difference(want, got string) string {
	const before, after = 60, 80
	i := 0
	for i < min(len(want), len(got)) && want[i] == got[i] {
		i++
	}
	part := func(s string) string { return s[max(0, i-before):min(len(s), i+after)] }
	return fmt.Sprintf("from byte %d on %q became %q", i, part(want), part(got))
}

// ours is the answer that our server should give.
func ours(s *conformance.Step) string {
	if s.Reason != "" {
		return s.Ours
	}
	return s.Answer
}

func dial(t *testing.T, s *server) *conformance.Target {
	t.Helper()
	to, err := conformance.Dial(s.http, s.grpc)
	require.NoError(t, err)
	to.Metrics(s.metrics)
	if s.cmd != nil {
		if i := slices.Index(s.cmd.Args, "--model-repository"); i > 0 {
			to.Repository(s.cmd.Args[i+1])
		}
	}
	t.Cleanup(to.Close)
	return to
}

// runSuites starts a server per file, since cases change the server.
func runSuites(t *testing.T, start func(*testing.T, *conformance.Suite) *conformance.Target, want func(*conformance.Step) string) {
	t.Helper()
	var n tally
	for _, s := range suites(t) {
		t.Run(s.Name, func(t *testing.T) {
			if !*record && (s.Needs["edits"] != "" || s.Needs["repository"] != "") {
				t.Parallel() // they wait more than they work
			}
			to := start(t, s)
			if *record {
				rewrite(t, s, to)
				return
			}
			n.check(t, s, to, want)
		})
	}
	t.Cleanup(func() {
		t.Logf("conformance: %d cases, %d questions, %d of them answered otherwise than NVIDIA's server for a written reason",
			n.cases.Load(), n.questions.Load(), n.explained.Load())
	})
}

// rewrite puts a server's answers into the file: ours as ours, where there is a
// reason for one.
func rewrite(t *testing.T, s *conformance.Suite, to *conformance.Target) {
	t.Helper()
	for _, c := range s.Cases {
		for _, step := range c.Steps {
			got, err := to.Ask(t.Context(), step)
			require.NoError(t, err, c.Name)
			switch {
			case strings.HasPrefix(t.Name(), "TestConformanceOracle"):
				step.Answer = got
			case step.Reason != "":
				step.Ours = got
			}
		}
	}
	file := root(t, "server", "servertest", "conformance", "testdata", s.Name+".txt")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte(conformance.Format(s, conformance.Head(string(text)))), 0o644))
}

func TestConformanceBinary(t *testing.T) {
	lib := needORT(t)
	t.Setenv(cpuOnly, "1")
	runSuites(t, func(t *testing.T, s *conformance.Suite) *conformance.Target {
		if s.Needs["lane"] == "long" && os.Getenv("TRITON_CONFORMANCE_LONG") == "" {
			t.Skip("loads many models: `make conformance` asks")
		}
		return dial(t, serveOurs(t, s, lib))
	}, ours)
}

// serveOurs starts our binary for a file.
func serveOurs(t *testing.T, s *conformance.Suite, lib string) *server {
	t.Helper()
	flags := append(flagsOf(t, s), "--onnxruntime-library", lib)
	if s.Needs["repository"] != "" {
		flags = append(flags, needPython(t))
	}
	return serve(t, conformanceModels(t, s, false), flags...)
}

func TestConformanceInProcess(t *testing.T) {
	if *record {
		t.Skip("-record uses the binary")
	}
	if os.Getenv("TRITON_CONFORMANCE_LONG") == "" {
		t.Skip("TestConformanceBinary asks the same: `make conformance` asks both")
	}
	lib := needORT(t)
	runSuites(t, func(t *testing.T, s *conformance.Suite) *conformance.Target {
		if s.Needs["repository"] != "" {
			t.Skip("the models run in processes of their own either way: TestConformanceBinary asks")
		}
		return dial(t, serveInProcess(t, conformanceModels(t, s, false), append(flagsOf(t, s), "--onnxruntime-library", lib)...))
	}, ours)
}

// TestConformanceForeign tests a server that is already running. It skips the files for
// other servers than the one that TRITON_CONFORMANCE_SERVER names.
func TestConformanceForeign(t *testing.T) {
	web, rpc := os.Getenv("TRITON_CONFORMANCE_HTTP"), os.Getenv("TRITON_CONFORMANCE_GRPC")
	if web == "" || rpc == "" {
		t.Skip("TRITON_CONFORMANCE_HTTP and TRITON_CONFORMANCE_GRPC name no server")
	}
	to, err := conformance.Dial(web, rpc)
	require.NoError(t, err)
	t.Cleanup(to.Close)
	kind := os.Getenv("TRITON_CONFORMANCE_SERVER")
	runSuites(t, func(t *testing.T, s *conformance.Suite) *conformance.Target {
		if s.Needs["edits"] != "" {
			t.Skip("changes the repository of the server")
		}
		if kind != "" && kind != s.Needs["server"] {
			t.Skipf("needs a server of kind %q", s.Needs["server"])
		}
		return to
	}, func(s *conformance.Step) string { return s.Answer })
}

// TestConformanceOracle tests NVIDIA's server, whose answers must be the recorded
// ones.
func TestConformanceOracle(t *testing.T) {
	oracle(t)
	if !*record {
		t.Skip("TestCompareWire tests NVIDIA's server too; this is for -record")
	}
	runSuites(t, func(t *testing.T, s *conformance.Suite) *conformance.Target { return dial(t, serveNVIDIA(t, s)) }, nil)
}
