package perf_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/cmd/cli/clitest"
	"triton/perf/load/loadtest"
)

var listening = regexp.MustCompile(`at (127\.0\.0\.1:\d+) for`)

// record records what send sends to an address, and returns the trace and what was printed.
func record(t *testing.T, send func(address string), args ...string) (file, out, errs string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "trace.jsonl")
	c := clitest.New().Start(nil, append([]string{"perf", "record", "--listen", "127.0.0.1:0", "-o", file}, args...)...)
	c.Printed(t, "Ctrl-C ends the recording.")
	send(listening.FindStringSubmatch(c.Stdout.String())[1])
	c.Signals <- syscall.SIGINT
	code, out, errs := c.Wait(t)
	require.Zero(t, code, errs)
	return file, out, errs
}

func TestRecordAndReplay(t *testing.T) {
	t.Parallel()
	s := nullServer(t)
	file, out, errs := record(t, func(address string) {
		code, _, errs := run(t, nil, "-m", "null", "-u", address, "--request-rate-range", "500", "--request-count", "500")
		require.Zero(t, code, errs)
	}, "-u", s.Address)
	require.Empty(t, errs)
	require.Contains(t, out, "Recorded 500 requests in "+file)

	replayed := filepath.Join(t.TempDir(), "out.csv")
	code, out, errs := run(t, nil, "replay", file, "-u", s.Address, "--speed", "4x", "-f", replayed)
	require.Zero(t, code, errs)
	require.Contains(t, out, "    Request count: 500\n")
	require.FileExists(t, replayed)
	code, out, errs = run(t, nil, "replay", file, "-u", s.Address, "--warmup-request-count", "490", "-m", "null", "--speed", "10")
	require.Zero(t, code, errs)
	require.Contains(t, out, "    Request count: 10\n")
}

// TestReplayToAnotherModel: -m names the model in place of that of the trace, not beside it.
func TestReplayToAnotherModel(t *testing.T) {
	t.Parallel()
	s := nullServer(t)
	trace := write(t, "trace.jsonl", `{"format":"triton-perf-trace","version":1}
{"arrival_us":0,"model":"recorded","inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,16],"b64":"`+strings.Repeat("A", 86)+`=="}]}
`)
	for _, args := range []string{"-m null", "-mnull", "--model=null"} {
		code, out, errs := run(t, nil, append([]string{"replay", trace, "-u", s.Address}, strings.Fields(args)...)...)
		require.Zero(t, code, errs)
		require.NotContains(t, out, "=== Model", "one model is measured")
	}
}

func TestRecordGRPC(t *testing.T) {
	t.Parallel()
	s, err := loadtest.StartGRPC("127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(s.Close)
	file, out, _ := record(t, func(address string) {
		code, _, errs := run(t, nil, "-m", "null", "-i", "grpc", "-u", address, "--request-rate-range", "50", "--request-count", "50")
		require.Zero(t, code, errs)
	}, "-i", "grpc", "-u", s.Address)
	require.Contains(t, out, "Recorded 50 requests in "+file)
}

func TestRecordRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args, want string
		code       int
	}{
		{"record -i udp", `unknown protocol "udp"`, 2},
		{"record --memory 0", "--memory: 0 is less than 1", 2},
		{"record --listen nowhere:x", "--listen: ", 2},
		{"record --listen 127.0.0.1:0 -o /no/such/folder/x", "--output-file: ", 2},
		{"record --listen 127.0.0.1:0 -o SEVERAL -u ftp://x", `--url: "ftp://x" is no address`, 2},
		{"record x", `unknown command "x"`, 1},
		{"replay", "perf replay takes the name of a trace", 99},
		{"replay --speed 2", "perf replay takes the name of a trace", 99},
		{"replay none", "no such file", 99},
		{"replay EMPTY", "EMPTY has no requests", 99},
		{"replay OTHER", "OTHER: line 1: this is no trace", 99},
		{"replay SEVERAL -u 127.0.0.1:1", "-m (model name). The value must be specified", 99},
		{"replay SEVERAL -m a -u 127.0.0.1:1 --speed 0", "Failed to parse --speed. The value must be a number > 0, not '0'.", 99},
		{"-m x --speed 2", "Error: --speed is only allowed with --fixed-schedule.", 99},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			header := `{"format":"triton-perf-trace","version":1}` + "\n"
			args := strings.Fields(c.args)
			for name, text := range map[string]string{"TRACE": "", "EMPTY": header, "OTHER": "{}\n", "SEVERAL": header + `{"model":"a"}` + "\n" + `{"model":"b"}` + "\n"} {
				path := filepath.Join(dir, name)
				require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
				for i := range args {
					if args[i] == name {
						args[i] = path
					}
				}
			}
			code, _, errs := run(t, nil, args...)
			require.Equal(t, c.code, code, errs)
			require.Contains(t, errs, c.want)
			kept, err := os.ReadFile(filepath.Join(dir, "SEVERAL"))
			require.NoError(t, err)
			require.True(t, strings.HasPrefix(string(kept), header), "a trace is replaced only when a recording begins")
		})
	}
}
