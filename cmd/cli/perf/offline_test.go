package perf_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/cmd/cli/clitest"
	"triton/perf/load/loadtest"
)

func runOffline(t *testing.T, args ...string) (int, string, string) {
	t.Helper()
	return clitest.Run(t, nil, append([]string{"perf", "run"}, args...)...)
}

func TestRunUsageErrors(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"":                                       "name the model with -m MODEL",
		"-m x":                                   "name the file of rows with --input FILE",
		"-m x --input a.jsonl":                   "name the file to write with --output FILE",
		"-m x --input a --output b -i udp":       "--protocol: unknown protocol \"udp\": use http or grpc",
		"-m x --input a --output b -b -1":        "--batch-size: -1 is less than 0",
		"-m x --input a --output b --retries -1": "--retries: -1 is less than 0",
		"-m x --input a --output b --concurrency -1":       "--concurrency: -1 is less than 0",
		"-m x --input a --output b --memory 0":             "--memory: 0 MiB is less than 1",
		"-m x --input a --output b -H x":                   "--header number 1 is not NAME:VALUE",
		"-m x --input a --output b --tls-ca-file /no/such": "root certificates: open /no/such",
		"-m x word": "\"word\" belongs to no option",
		"--no-such": "unknown flag: --no-such",
	} {
		code, out, errs := runOffline(t, strings.Fields(args)...)
		require.Equal(t, 2, code, args)
		require.Empty(t, out)
		require.Contains(t, errs, want)
	}
}

// TestRun answers the rows of a file over HTTP; one of them is no row.
func TestRun(t *testing.T) {
	t.Parallel()
	s, err := loadtest.StartHTTP("127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	dir := t.TempDir()
	row := `{"INPUT0": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}`
	answer := `{"OUTPUT0":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]}`
	in, out := filepath.Join(dir, "in.jsonl"), filepath.Join(dir, "out.jsonl")
	require.NoError(t, os.WriteFile(in, []byte(row+"\n{}\n"+row), 0o600))
	args := []string{"-m", "null", "-u", s.Address, "--input", in, "--output", out, "-b", "1"}
	code, stdout, errs := runOffline(t, args...)
	require.Equal(t, 3, code, errs)
	require.Empty(t, stdout)
	require.Contains(t, errs, "1 failed")
	require.Contains(t, errs, "triton: 1 of 3 rows failed: their lines in "+out)
	b, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Equal(t, answer+"\n"+`{"error":"line 2: input \"INPUT0\" is missing"}`+"\n"+answer+"\n", string(b))

	code, _, errs = runOffline(t, args...)
	require.Equal(t, 1, code)
	require.Contains(t, errs, "replace it with --restart")
	require.NoError(t, os.WriteFile(in, []byte(row), 0o600))
	code, _, errs = runOffline(t, append(args, "--restart")...)
	require.Zero(t, code, errs)
	require.Contains(t, errs, "1 rows in")
}

// TestModelNamedRun: only the first word is a command.
func TestModelNamedRun(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"-m run", "-am run", "--model=run", "--async run -m run", "word run -m x", "-- run"} {
		code, _, errs := clitest.Run(t, nil, append([]string{"perf", "-u", "127.0.0.1:1"}, strings.Fields(args)...)...)
		require.Equal(t, 99, code, args)
		require.NotContains(t, errs, "flag", args)
	}
}
