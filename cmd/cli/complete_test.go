package cli_test

import (
	"bytes"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/cmd/cli"
	"triton/cmd/cli/clitest"
	"triton/cmd/cli/process"
	"triton/perf/load/loadtest"
)

// completions returns what a shell suggests for a line, without descriptions, and the directive
// at the end. The last argument is the one that is being typed.
func completions(t *testing.T, environ []string, args ...string) (values []string, directive string) {
	t.Helper()
	return completionsBy(t, 0, environ, args...)
}

// completionsBy is completions with the time that a server has; 0: as at a keyboard.
func completionsBy(t *testing.T, limit time.Duration, environ []string, args ...string) (values []string, directive string) {
	t.Helper()
	c := clitest.New()
	c.CompletionTime = limit
	code, out, _ := c.Start(environ, append([]string{"__complete"}, args...)...).Wait(t)
	require.Zero(t, code)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for _, line := range lines[:len(lines)-1] {
		value, _, _ := strings.Cut(line, "\t")
		values = append(values, value)
	}
	return values, lines[len(lines)-1]
}

// The directives of cobra.
const (
	anyFile = ":0"
	noFile  = ":4"
	folders = ":16"
)

func TestCompletions(t *testing.T) {
	t.Parallel()
	models := clitest.Models(t)
	for _, c := range []struct {
		line      string
		want      []string
		directive string
	}{
		{"perf --measurement-", []string{"--measurement-mode", "--measurement-interval", "--measurement-request-count"}, noFile},
		{"perf -m x --no-t", []string{"--no-tui"}, noFile},
		{"perf --measurement-mode ", []string{"time_windows", "count_windows"}, noFile},
		{"perf --measurement-mode=c", []string{"count_windows"}, noFile},
		{"perf --measurement-m ", []string{"time_windows", "count_windows"}, noFile},
		{"perf --request-distribution po", []string{"poisson"}, noFile},
		{"perf -i ", []string{"http", "grpc"}, noFile},
		{"perf -ig", []string{"-igrpc"}, noFile},
		{"perf --input-data ", []string{"random", "zero"}, anyFile},
		{"perf -f ", nil, anyFile},
		{"perf --output ", []string{"text", "json", "csv", "markdown", "html"}, noFile},
		{"perf --concurrency-range ", nil, noFile},
		{"perf --percentile ", nil, noFile},
		{"perf -p ", nil, noFile},
		{"perf -m --async ", nil, noFile}, // --async is the name of the model
		{"perf --async=", nil, noFile},
		{"perf -- --mea", nil, noFile},
		{"perf --nonsense=", nil, noFile},
		{"perf --shared", []string{"--shared-memory"}, noFile},
		{"perf --ssl-grpc-root-certifications-f", []string{"--ssl-grpc-root-certifications-file"}, noFile},
		{"serve --log-for", []string{"--log-format"}, noFile},
		{"serve --log-format ", []string{"default", "ISO8601", "json"}, noFile},
		{"serve --exit-on-error=", []string{"true", "false"}, noFile},
		{"serve --model-repository ", nil, folders},
		{"serve --model-repository " + models + " --load-model ", []string{"m"}, noFile},
		{"serve --http-port ", nil, noFile},
		{"serve ", nil, noFile},
		{"analyze --model-repository " + models + " -m ", []string{"m"}, noFile},
		{"analyze --model-repository /no/such -m ", nil, noFile},
		{"analyze --output m", []string{"markdown"}, noFile},
		{"analyze -o ", nil, anyFile},
		{"analyze profile --run-config-search-mode o", []string{"optuna"}, noFile},
		{"analyze profile --model-repository " + models + " --profile-models ", []string{"m"}, noFile},
		{"analyze profile -m ", nil, folders},
		{"analyze profile -f ", nil, anyFile},
		{"analyze profile --perf-output=", []string{"true", "false"}, noFile},
		{"analyze profile --min-perc", []string{"--min-percentage-of-search-space"}, noFile},
		{"analyze profile --gpu-output-fields gpu_uti", []string{"gpu_utilization"}, noFile},
		{"analyze profile ", nil, noFile},
		{"analyze report -o ", []string{"pdf", "csv", "png", "svg", "json", "html"}, noFile},
		{"analyze profile --output ", []string{"text", "json", "csv", "markdown", "html"}, noFile},
		{"analyze report --export-path ", nil, folders},
		{"analyze rep", []string{"report"}, noFile},
		{"repo lint --output s", []string{"sarif"}, noFile},
		{"repo lint --severity ", []string{"note", "warning", "error"}, noFile},
		{"repo lint ", nil, anyFile},
		{"repo example --model simple_s", []string{"simple_string"}, noFile},
		{"repo example ", nil, folders},
		{"repo scaffold --model-repository ", nil, folders},
		{"repo sc", []string{"scaffold"}, noFile},
		{"completion z", []string{"zsh"}, noFile},
	} {
		got, directive := completions(t, nil, strings.Split(c.line, " ")...)
		require.Equal(t, c.want, got, c.line)
		require.Equal(t, c.directive, directive, c.line)
	}
}

// TestModelsFromTheServer: the server is the one that the line, the environment or the settings
// name.
func TestModelsFromTheServer(t *testing.T) {
	t.Parallel()
	http := nullServer(t)
	grpc, err := loadtest.StartGRPC("127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(grpc.Close)
	for _, args := range [][]string{
		{"perf", "-u", http, "-m", ""},
		{"perf", "-u", http, "--model=n"},
		{"perf", "-u", http, "--model", "nu"},
		{"perf", "-i", "grpc", "-u", grpc.Address, "--async", "-m", ""},
	} {
		got, directive := completionsBy(t, 50*time.Second, nil, args...)
		require.Equal(t, []string{"null"}, got, args)
		require.Equal(t, noFile, directive)
	}
	got, _ := completionsBy(t, 50*time.Second, nil, "perf", "-u", http, "-mn")
	require.Equal(t, []string{"-mnull"}, got)
	got, _ = completionsBy(t, 50*time.Second, []string{"TRITON_PERF_URL=" + http}, "perf", "-m", "")
	require.Equal(t, []string{"null"}, got)
	got, _ = completionsBy(t, 50*time.Second, nil, "perf", "-u", http, "-m", "other")
	require.Empty(t, got)
}

// TestSilentServer: a completion ends without a server that answers.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	for _, args := range [][]string{{"-u", l.Addr().String()}, {"-i", "grpc", "-u", l.Addr().String()}, {"-u", "127.0.0.1:1"}} {
		got, directive := completions(t, nil, append(append([]string{"perf"}, args...), "-m", "")...)
		require.Empty(t, got)
		require.Equal(t, noFile, directive)
	}
}

// TestCompletionsUnderOtherNames: a symlink has the completions of its command.
func TestCompletionsUnderOtherNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"perf_analyzer": "--measurement-mode\t", "tritonserver": "--metrics-address\t"} {
		code, out, errs := clitest.RunAs(t, "/usr/bin/"+name, "__complete", "--me")
		require.Zero(t, code, errs)
		require.Contains(t, out, want)
	}
}

// TestCompletionScripts: each shell has a script that calls the program.
func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		var out, errs bytes.Buffer
		code := cli.Main(process.Process{Args: []string{"triton", "completion", shell}, Stdout: &out, Stderr: &errs})
		require.Zero(t, code, errs.String())
		require.Contains(t, out.String(), "__complete")
	}
}
