package main_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTrainedModel fetches a trained model, serves it and runs the client that
// comes with it: a stream of sound whose state stays in the server.
func TestTrainedModel(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: fetches a package and starts the binary")
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3: ", err)
	}
	lib, dir := needORT(t), filepath.Join(t.TempDir(), "models")
	out, err := exec.CommandContext(t.Context(), tritonBinary(t), "repo", "example", dir, "--trained", "--model", "voice_activity",
		"--packages", root(t, "build", "packages")).CombinedOutput()
	if err != nil && strings.Contains(string(out), "fetch silero-vad") {
		t.Skipf("the package cannot be fetched: %s", out)
	}
	require.NoError(t, err, string(out))
	s := serve(t, dir, "--onnxruntime-library", lib)
	for range 2 { // the second stream begins with a state of its own
		out, err = exec.CommandContext(t.Context(), python, filepath.Join(dir, "voice_activity", "client.py"), "--url", s.http).CombinedOutput()
		require.NoError(t, err, string(out))
		require.Equal(t, "speech from 1.02 s to 2.50 s\n109 steps, 3.50 s of sound\n", string(out))
	}
	s.stop(t)
}

// TestTrainedOCR reads the sample picture with the trained models, by the ensemble and by the
// model that calls the graphs. The server installs what the Python models import.
func TestTrainedOCR(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: fetches a package and starts the binary")
	}
	python, lib, dir := needClient(t), needORT(t), filepath.Join(t.TempDir(), "models")
	out, err := exec.CommandContext(t.Context(), tritonBinary(t), "repo", "example", dir, "--trained", "--model", "ocr", "--model", "ocr_bls",
		"--python", python, "--packages", root(t, "build", "packages")).CombinedOutput()
	if err != nil && strings.Contains(string(out), "fetch rapidocr-onnxruntime") {
		t.Skipf("the package cannot be fetched: %s", out)
	}
	require.NoError(t, err, string(out))
	out, err = exec.CommandContext(t.Context(), tritonBinary(t), "repo", "lint", "--python", python, dir).CombinedOutput()
	require.NoError(t, err, string(out))

	s := serve(t, dir, "--onnxruntime-library", lib, "--backend-config", "python,python-executable="+python,
		"--backend-config", "python,environment-cache-directory="+root(t, "build", "packages", "environments"))
	read := func(model string, more ...string) string {
		args := append([]string{filepath.Join(dir, "ocr", "client.py"), "--url", s.http, "--model", model}, more...)
		out, err := exec.CommandContext(t.Context(), python, args...).CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out)
	}
	found := read("ocr")
	lines := strings.Split(strings.TrimSpace(found), "\n")
	for i, line := range lines {
		lines[i] = strings.Join(strings.Fields(line)[5:], " ") // behind box and score
	}
	require.Equal(t, []string{"TRITON", "SAMPLE 42", "READS TEXT", "IN 2 STEPS"}, lines)
	require.Equal(t, found, read("ocr_bls"), "the same boxes and scores")
	s.stop(t)
}
