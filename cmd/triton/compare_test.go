package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/servertest/conformance"
)

// `make compare` sends the requests of server/servertest/conformance to NVIDIA's server and to
// ours; the answers must be equal except where the file gives a reason. The installed
// NVIDIA server has the Python backend only, so Python models of the same names,
// configurations and results replace ours.

func oracle(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("TRITON_ORACLE")
	if dir == "" {
		t.Skip("TRITON_ORACLE is not set: run `make compare`")
	}
	return dir
}

const standIn = `import json
import time
import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        self.name = args["model_name"]
        parameters = json.loads(args["model_config"])["parameters"]
        self.delay = int(parameters.get("execute_delay_ms", {"string_value": "0"})["string_value"]) / 1000

    def execute(self, requests):
        time.sleep(self.delay)
        answers = []
        for r in requests:
            get = lambda n: pb_utils.get_input_tensor_by_name(r, n).as_numpy()
            if self.name.startswith("identity"):
                out = [pb_utils.Tensor("OUTPUT0", get("INPUT0"))]
            else:
                a, b = get("INPUT0"), get("INPUT1")
                text = a.dtype == np.object_
                if text:
                    a, b = a.astype(np.int32), b.astype(np.int32)
                both = [a + b, a - b]
                if text:
                    both = [np.array([str(x) for x in y.flatten()], dtype=np.object_).reshape(y.shape) for y in both]
                out = [pb_utils.Tensor("OUTPUT%d" % i, y) for i, y in enumerate(both)]
            wanted = r.requested_output_names()
            answers.append(pb_utils.InferenceResponse([o for o in out if o.name() in wanted]))
        return answers
`

// serveNVIDIA starts NVIDIA's server for a file.
func serveNVIDIA(t *testing.T, s *conformance.Suite) *server {
	t.Helper()
	args := []string{"--model-repository", conformanceModels(t, s, true), "--allow-gpu-metrics=false"}
	for _, f := range flagsOf(t, s) {
		if !strings.HasPrefix(f, "--allow-client-shm") { // always allowed there
			args = append(args, f)
		}
	}
	return startNVIDIA(t, exec.Command(filepath.Join(oracle(t), "bin", "tritonserver"), args...))
}

// startNVIDIA starts a server that runs NVIDIA's library for Python models. It leaves Python
// children behind, which hold its output open.
func startNVIDIA(t *testing.T, cmd *exec.Cmd) *server {
	t.Helper()
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	t.Cleanup(func() {
		if cmd.Process != nil {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // fails if none is left
		}
	})
	return start(t, cmd)
}

// TestCompareWire sends each request to both servers in turn.
func TestCompareWire(t *testing.T) {
	oracle(t)
	lib := needORT(t)
	questions, reasons := 0, map[string]int{}
	for _, s := range suites(t) {
		t.Run(s.Name, func(t *testing.T) {
			theirs := dial(t, serveNVIDIA(t, s))
			ours := dial(t, serveOurs(t, s, lib))
			for _, c := range s.Cases {
				for _, step := range c.Steps {
					questions++
					compare(t, s, c, step, theirs, ours, reasons)
				}
			}
		})
	}
	explained := 0
	for reason, n := range reasons {
		explained += n
		t.Logf("%4d answers differ: %s", n, reason)
	}
	t.Logf("%d questions, %d answers equal, %d different for a written reason", questions, questions-explained, explained)
}

func compare(t *testing.T, s *conformance.Suite, c *conformance.Case, step *conformance.Step, theirs, here *conformance.Target, reasons map[string]int) {
	t.Helper()
	want, err := theirs.Ask(t.Context(), step)
	require.NoError(t, err)
	got, err := here.Ask(t.Context(), step.Expecting(ours(step)))
	require.NoError(t, err)
	at := step.Where(s)
	switch {
	case want != step.Answer:
		t.Errorf("%s: %s: NVIDIA's server does not answer as recorded\n--- recorded\n%s--- now\n%s", at, c.Name, step.Answer, want)
	case want == got && step.Reason != "":
		t.Errorf("%s: %s: a reason for a difference is written down (%s), but the answers are equal", at, c.Name, step.Reason)
	case want != got && step.Reason == "":
		t.Errorf("%s: %s\n--- NVIDIA\n%s--- ours\n%s", at, c.Name, want, got)
	case step.Reason != "":
		reasons[step.Reason]++
	}
}
