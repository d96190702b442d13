package modelconfig_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"triton/pkg/sharedtest"
)

// TestCompareValidation gives every case of testdata/validate to NVIDIA's server
// and looks for our first text in its log. TRITON_ORACLE is the folder that the
// server is installed in (make oracle).
func TestCompareValidation(t *testing.T) {
	binary := oracle(t)
	repo := t.TempDir()
	type want struct{ model, msg, at string }
	var wants []want
	datadriven.Walk(t, "testdata/validate", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.HasArg("newer") {
				return d.Expected // than the installed server
			}
			var model string
			d.ScanArgs(t, "model", &model)
			dir := filepath.Join(repo, model)
			require.NoError(t, os.MkdirAll(filepath.Join(dir, "1"), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "config.pbtxt"), []byte(d.Input+"\n"), 0o644))
			if !d.HasArg("nofile") {
				require.NoError(t, os.WriteFile(filepath.Join(dir, "1", "model.py"), nil, 0o644))
			}
			msg, _, _ := strings.Cut(load(t, d), "\n")
			wants = append(wants, want{model, msg, d.Pos})
			return d.Expected
		})
	})
	log := runTriton(t, binary, repo)
	for _, w := range wants {
		if w.msg == "" || !strings.Contains(log, w.msg) {
			t.Errorf("%s: %s: ours is %q, the log says:\n%s", w.at, w.model, w.msg, about(log, w.model))
		}
	}
	t.Logf("%d configurations compared", len(wants))
}

// TestCompareTexts checks testdata/triton_text.json against the server that it
// was recorded from.
func TestCompareTexts(t *testing.T) {
	binary := oracle(t)
	repo := t.TempDir()
	cases := recordedTexts(t)
	for i, c := range cases {
		dir := filepath.Join(repo, fmt.Sprintf("case%03d", i))
		require.NoError(t, os.Mkdir(dir, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "config.pbtxt"), []byte(c.Text), 0o644))
	}
	log := runTriton(t, binary, repo)
	for i, c := range cases {
		refused := strings.Contains(log, fmt.Sprintf("Poll failed for model directory 'case%03d': failed to read text proto from", i))
		require.Equal(t, c.Error != "", refused, c.Text)
		require.Contains(t, log, c.Error, c.Text)
	}
}

func oracle(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("TRITON_ORACLE")
	if dir == "" {
		t.Skip("TRITON_ORACLE does not name the folder of NVIDIA's server")
	}
	return filepath.Join(dir, "bin", "tritonserver")
}

// about returns what a log says of a model.
func about(log, model string) string {
	var lines []string
	for line := range strings.Lines(log) {
		if strings.Contains(line, model) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// runTriton serves a repository until the server answers and returns its log.
func runTriton(t *testing.T, binary, repo string) string {
	t.Helper()
	port := sharedtest.Ports(t, 3)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var log bytes.Buffer
	cmd := exec.CommandContext(ctx, binary, "--model-repository="+repo, "--exit-on-error=false", "--strict-readiness=false",
		"--disable-auto-complete-config", "--min-supported-compute-capability=7.5", "--allow-gpu-metrics=false",
		fmt.Sprintf("--http-port=%d", port[0]), fmt.Sprintf("--grpc-port=%d", port[1]), fmt.Sprintf("--metrics-port=%d", port[2]))
	cmd.Stdout, cmd.Stderr = &log, &log
	require.NoError(t, cmd.Start())
	for ctx.Err() == nil {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/v2/health/live", port[0]), nil)
		require.NoError(t, err)
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	_ = cmd.Wait() // the server's exit code says nothing of interest
	return log.String()
}
