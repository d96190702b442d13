package perf_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/cmd/cli/clitest"
)

func TestInProcess(t *testing.T) {
	t.Parallel()
	dir, out := clitest.Models(t), t.TempDir()
	kind := []string{"-m", "m", "--service-kind", "triton_c_api", "--model-repository", dir}
	export, csv := filepath.Join(out, "x.json"), filepath.Join(out, "x.csv")
	code, text, errs := run(t, nil, append(kind, "--request-count", "30", "--profile-export-file", export, "-f", csv, "-v", "-v")...)
	require.Zero(t, code, errs)
	require.Contains(t, text, "*** Measurement Settings ***\n  Service Kind: TRITON_C_API\n")
	require.NotContains(t, text, "HTTP")
	require.Contains(t, text, "p99 latency")
	require.Contains(t, text, "Server: \n    Inference count: 30\n")
	require.Contains(t, errs, "successfully loaded 'm'", "the log of the server")
	b, err := os.ReadFile(export)
	require.NoError(t, err)
	require.Contains(t, string(b), `"service_kind":"triton_c_api"`)
	require.FileExists(t, csv)

	code, text, errs = run(t, nil, append(kind, "-b", "1", "--request-count", "300", "--request-rate-range", "300", "--streaming", "-a")...)
	require.Zero(t, code, errs)
	require.Contains(t, text, "  Batch size: 1\n  Service Kind: TRITON_C_API\n")
	require.Contains(t, text, "asynchronous")
	require.NotContains(t, errs, "successfully loaded")

	code, _, errs = run(t, nil, "-m", "other", "--service-kind", "triton_c_api", "--model-repository", dir)
	require.Equal(t, 99, code)
	require.Equal(t, "error: failed to create triton client backend: model repository "+dir+" has no model 'other'\n\n", errs)

	c := clitest.New().Start(nil, append([]string{"perf", "-p", "60000"}, kind...)...)
	c.Printed(t, "Request concurrency: 1")
	c.Signals <- syscall.SIGINT
	code, _, errs = c.Wait(t)
	require.Zero(t, code)
	require.Contains(t, errs, "Received exit signal.")
}
