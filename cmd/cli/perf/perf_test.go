package perf_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/cmd/cli/clitest"
	"triton/perf/load/loadtest"
)

// run runs "triton perf" and returns exit code, output and errors, without the warning that a busy
// machine causes.
func run(t *testing.T, environ []string, args ...string) (int, string, string) {
	t.Helper()
	code, out, errs := clitest.Run(t, environ, append([]string{"perf"}, args...)...)
	return code, out, clientWarning.ReplaceAllString(errs, "")
}

var clientWarning = regexp.MustCompile("WARNING: [a-z0-9. ]*: the client limited this level: .*\n(  .*\n)*")

// nullServer takes a moment for each inference, as the processors of the tests beside it are the same.
func nullServer(t *testing.T) *loadtest.HTTP {
	t.Helper()
	s, err := loadtest.StartHTTP("127.0.0.1:0")
	require.NoError(t, err)
	s.Delay = 2 * time.Millisecond
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// quick ends after three windows, whatever they show. They are long enough for a
// request on a busy machine.
func quick(address string, more ...string) []string {
	return append([]string{"-m", "null", "-u", address, "-p", "500", "-s", "99999"}, more...)
}

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{"", "Error: Failed to parse -m (model name). The value must be specified."},
		{"--no-such", "triton perf: unrecognized option '--no-such'"},
		{"--concurency-range 4", "did you mean '--concurrency-range'?"},
		{"-k", "triton perf: invalid option -- 'k'"},
		{"-m", "triton perf: option requires an argument -- 'm'"},
		{"--measurement-interval", "triton perf: option '--measurement-interval' requires an argument"},
		{"--async=true", "triton perf: option '--async' doesn't allow an argument"},
		{"--mea 5", "triton perf: option '--mea' is ambiguous; possibilities: '--measurement-mode' '--measurement-interval' '--measurement-request-count'"},
		{"-m x -b 0", "Error: Failed to parse -b (batch size). The value must be > 0."},
		{"-m x -b 4:1", "must be an increasing range"},
		{"-m x -b 1:99999999", "at most 1000"},
		{"-m x -f ./x.csv -o x.csv", "Error: x.csv: two options name the same file"},
		{"-m x -f - --output json", "Error: -: two options name the same file"},
		{"-m x -b abc", "Error: Failed to parse -b. Invalid value provided: abc"},
		{"-m x -b 1,a", "Error: Failed to parse -b. Invalid value provided: 1,a"},
		{"-m x -i udp", "Error: Failed to parse -i (protocol). The value should be either HTTP or gRPC."},
		{"-m x -H nope", "Failed to parse -H"},
		{"-m x -p 0", "Error: Failed to parse --measurement-interval (-p). The value must be > 0 msec."},
		{"-m x -s -1", "Error: Failed to parse --stability-percentage (-s). The value must be >= 0.0."},
		{"-m x -r 0", "Error: Failed to parse --max-trials (-r). The value must be > 0."},
		{"-m x -l -1", "Error: Failed to parse --latency-threshold (-l). The value must be >= 0 msecs."},
		{"-m x --percentile 100", "Error: Failed to parse --percentile. The value must be -1 for not reporting or in range (0, 100)."},
		{"-m x --percentile 0", "Error: Failed to parse --percentile."},
		{"-m x --measurement-mode x", "Error: Failed to parse --measurement-mode. Unsupported type provided: 'x'. The available options are 'time_windows' or 'count_windows'."},
		{"-m x --measurement-request-count 0", "Error: Failed to parse --measurement-request-count. The value must be > 0."},
		{"-m x --concurrency-range 1:2:3:4", "Error: Failed to parse --concurrency-range. The value does not match <start:end:step>."},
		{"-m x --concurrency-range 0", "Error: The start of the search range must be > 0"},
		{"-m x --concurrency-range 1:0", "Error: The end of the search range and the latency limit can not be both 0 (or 0.0) simultaneously"},
		{"-m x --concurrency-range 1:4:0", "The step of --concurrency-range must be > 0"},
		{"-m x --repeat 0", "Error: Failed to parse --repeat. The value must be > 0."},
		{"-m x --repeat 2 --concurrency-range 1:0 -l 5", "Error: --repeat needs a range with an end: without one each repeat would visit other levels. Name the end, or the levels: --concurrency-range 1,4,16."},
		{"-m x --repeat 2 --request-rate-range 1:0 -l 5", "Error: --repeat needs a range with an end: without one each repeat would visit other levels. Name the end, or the levels: --concurrency-range 1,4,16."},
		{"-m x --repeat 2 --binary-search --concurrency-range 1:4 -l 5", "Error: Cannot specify --repeat and --binary-search simultaneously: each repeat would search other levels. Name them: --concurrency-range 1,4,16."},
		{"-m x --repeat 2 --session-concurrency 2", "Error: --repeat is not for --fixed-schedule, --periodic-concurrency-range and --session-concurrency: their requests are sent once."},
		{"-m x --binary-search --concurrency-range 1:0 -l 5", "Error: The end of the range can not be 0 (or 0.0) for binary search mode."},
		{"-m x --binary-search --concurrency-range 1:4", "Error: The --latency-threshold cannot be 0 for binary search mode."},
		{"-m x --binary-search --concurrency-range 4 -l 5", "Error: The end of the range can not be less than start of the range for binary search mode."},
		{"-m x --binary-search --concurrency-range 1,2,4 -l 5", "Error: --binary-search needs a range <start:end>, not a list of levels."},
		{"-m x --binary-search --request-rate-range 10,20 -l 5", "Error: --binary-search needs a range <start:end>, not a list of levels."},
		{"-m x --async --sync", "Error: Cannot specify --async and --sync simultaneously."},
		{"-m x --input-data nothere", "Error: Failed to parse --input-data. Unsupported type provided: 'nothere'. The available options are 'zero', 'random', path to a directory, or a json file."},
		{"-m x --shape A", "Error: Failed to parse --shape. There must be a colon after input name."},
		{"-m x --shape A:1,x", "Error: Failed to parse --shape. Invalid value provided: A:1,x"},
		{"-m x --shape A:1,0", "Error: Failed to parse --shape. The dimensions of input tensor must be > 0."},
		{"-m x --string-length 0", "Error: Failed to parse --string-length. The value must be > 0"},
		{"-m x --metrics-url y", "Error: Must specify --collect-metrics when using the --metrics-url option."},
		{"-m x --metrics-interval 5", "Error: Must specify --collect-metrics when using the --metrics-interval option."},
		{"-m x --collect-metrics --metrics-interval 0", "Error: Failed to parse --metrics-interval. The value must be > 0 msecs."},
		{"-m x --request-count 2 --concurrency-range 3", "Error: --request-count can not be less than concurrency"},
		{"-m x --request-count 9 --concurrency-range 1:3", "Error: --request-count not supported with multiple concurrency values in one run"},
		{"-m x --concurrency-range 2 --request-rate-range 5", "Error: Cannot use both Concurrency and RequestRate inference load modes."},
		{"-m x --request-rate-range 5 -t 2", "Error: Cannot use both RequestRate and DeprecatedConcurrency inference load modes."},
		{"-m x --request-rate-range 0", "Error: Failed to parse --request-rate-range. The start of the search range must be > 0."},
		{"-m x --request-rate-range nan", "Error: Failed to parse --request-rate-range. Invalid value provided: nan"},
		{"-m x --request-rate-range 1:2:3:4", "Error: Failed to parse --request-rate-range. The value does not match <start:end:step>."},
		{"-m x --request-rate-range 9 --request-count 8", "Error: --request-count can not be less than request rate"},
		{"-m x --request-distribution even", "Error: Failed to parse --request-distribution. Unsupported type provided: 'even'. Choices are 'poisson' or 'constant'."},
		{"-m x --request-intervals /no/such/file", "Error: Failed to parse --request-intervals. The value must be a valid file path"},
		{"-m x --sequence-id-range 5:5", "Error: Failed to parse --sequence-id-range. The 'end' value must be greater than 'start' value."},
		{"-m x --sequence-id-range 5:6:7", "Error: Failed to parse --sequence-id-range. The value does not match <start:end>."},
		{"-m x --sequence-length-variation -1", "Error: Failed to parse --sequence-length-variation. The value must be >= 0.0."},
		{"-m x --num-of-sequences 0", "Error: Failed to parse --num-of-sequences. The value must be > 0."},
		{"-m x --data-directory . -z", "Error: The -z flag cannot be set when --data-directory is provided."},
		{"-m x -f /no/such/folder/x.csv", "Error: cannot write /no/such/folder/x.csv: stat /no/such/folder: no such file or directory"},
		{"-m x -f /", "Error: cannot write /: it is a folder"},
		{"-m x --profile-export-file /", "Error: Failed to parse --profile-export-file. Path must not already exist."},
		{"-m x --streaming", "Error: Streaming is only allowed with gRPC protocol and Triton C API."},
		{"-m x --fixed-schedule --request-rate-range 5", "Error: Cannot use both FixedSchedule and RequestRate inference load modes."},
		{"-m x --concurrency-range 5 --fixed-schedule", "Error: Cannot use both Concurrency and FixedSchedule inference load modes."},
		{"-m x --fixed-schedule", "Error: When using `--fixed-schedule`, you must provide a dataset using `--input-data`."},
		{"-m x --fixed-schedule --input-data zero", "Error: When using `--fixed-schedule`, you must provide a dataset using `--input-data`."},
		{"-m x --fixed-schedule --request-count 5", "Error: Cannot specify `--request-count` when using `--fixed-schedule`. The request count will be equal to the number of requests in the input data minus the warmup request count."},
		{"-m x --fixed-schedule --input-data .", "Error: '.' is not a file. When using `--fixed-schedule`, all paths passed to --input-data must be files."},
		{"-m x --fixed-schedule --input-data parse_test.go", "Error: RapidJSON parse error 3. Review JSON file for formatting errors: 'parse_test.go'"},
		{"-m x --random-seed -1", "Error: Failed to parse --random-seed. Invalid value provided: -1"},
		{"-m x --random-steps 0", "Error: Failed to parse --random-steps. The value must be > 0."},
		{"-m x --random-steps 2 -z", "Error: --random-steps and --input-range need random data, the default of --input-data."},
		{"-m x --input-range A:1:2 --input-data zero", "Error: --random-steps and --input-range need random data, the default of --input-data."},
		{"-m x --input-range A:1", "Error: Failed to parse --input-range. The value must be <name:low:high>, not 'A:1'."},
		{"-m x --input-range A:1:b", "Error: Failed to parse --input-range. 'b' is not a number."},
		{"-m x --shared-memory System", "Error: Failed to parse --shared-memory. Unsupported type provided: 'System'. The available options are 'system', 'cuda', or 'none'."},
		{"-m x --output-shared-memory-size -1", "Error: Failed to parse --output-shared-memory-size. The value must be >= 0."},
		{"-m x --input-tensor-format xml", "Error: Failed to parse --input-tensor-format. Unsupported type provided: 'xml'. The available options are 'binary' or 'json'."},
		{"-m x --output-tensor-format xml", "Error: Failed to parse --output-tensor-format. Unsupported type provided: 'xml'. The available options are 'binary' or 'json'."},
		{"-m x --stop-when ci", "Error: Failed to parse --stop-when. 'ci' is not of the form ci<2%, ci(throughput)<2%, ci(avg)<2%, ci(p99)<2% or, beside one of these, throughput<1000."},
		{"-m x --stop-when ci(p100)<2%", "Error: Failed to parse --stop-when. \"p100\" is no figure; the figures are throughput, avg and percentiles such as p99."},
		{"-m x --stop-when ci<2%,ci(avg)<100%", "Error: Failed to parse --stop-when. the width of an interval must be more than 0 % and less than 100 %, not 100 %."},
		{"-m x --stop-when ci<2% --request-count 9", "Error: Cannot specify --request-count and --stop-when simultaneously: both say when a level ends."},
		{"-m x --stop-when ci<2% --measurement-mode count_windows", "Error: Cannot specify --measurement-mode count_windows and --stop-when simultaneously"},
		{"-m x --fail-on never", "Error: Failed to parse --fail-on. Unsupported condition provided: 'never'. The available conditions are unstable, errors, late and none."},
		{"-m x --fail-on none,late", "Error: Failed to parse --fail-on. 'none' excludes other conditions."},
		{"-m x --service-kind tritonserver", "Error: Failed to parse --service-kind. Unsupported type provided: 'tritonserver'. The available options are 'triton', 'tfserving', 'torchserve', or 'triton_c_api'."},
		{"-m x --service-kind triton_c_api", "Error: --model-repository should not be empty when using service-kind=triton_c_api."},
		{"-m x --service-kind triton_c_api --model-repository . --triton-server-directory=", "Error: --triton-server-path should not be empty when using service-kind=triton_c_api."},
		{"-m x --service-kind triton_c_api --model-repository . --shared-memory cuda", "Error: --shared-memory cuda is between processes"},
		{"-m x --service-kind triton_c_api --model-repository . --trace-level OFF", "Error: client backend of kind TRITON_C_API does not support UpdateTraceSettings API"},
		{"-m x --service-kind triton_c_api --model-repository . --collect-metrics", "Error: Server-side metric collection is only supported with Triton client backend."},
		{"-m x --model-repository .", "Error: --model-repository needs --service-kind triton_c_api."},
		{"-m x --service-kind tfserving -i grpc --shared-memory system", "Error: --shared-memory is only supported with --service-kind triton and triton_c_api."},
		{"-m x -p 0s", "Error: Failed to parse --measurement-interval (-p). The value must be > 0 msec."},
		{"-m x -p 500us", "Error: Failed to parse --measurement-interval (-p). The value must be > 0 msec."},
		{"-m x -l -1s", "Error: Failed to parse --latency-threshold (-l). The value must be >= 0 msecs."},
		{"-m x --concurrency-range 1,4:2", `Error: Failed to parse --concurrency-range. "4:2" must be an increasing range of at most 1000 levels.`},
		{"-m x --concurrency-range 1,1:1001", "must be an increasing range of at most 1000 levels."},
		{"-m x --request-rate-range 1,2:", "Error: Failed to parse --request-rate-range. Invalid value provided: 2:"},
		{"-m x --output jsn", `Error: --output: unknown form "jsn": use one of text, json, csv, markdown, html, or -o for a file; did you mean "json"?`},
		{"-m x -o result.dat", "Error: -o result.dat: the extension names none of the forms"},
		{"-m x -o /no/such/folder/x.json", "Error: cannot write /no/such/folder/x.json: stat /no/such/folder: no such file or directory"},
		{"-m x --table maybe", "--table must be auto, always or never"},
		{"-m x --config /no/such/file", "configuration file"},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			code, out, errs := run(t, nil, strings.Fields(c.args)...)
			require.Equal(t, 99, code)
			require.Empty(t, out)
			require.Contains(t, errs, c.want)
		})
	}
}

func TestDefaultsAndSyntax(t *testing.T) {
	s := nullServer(t)
	code, out, errs := run(t, nil, quick(s.Address)...)
	require.Zero(t, code, errs)
	require.Empty(t, errs)
	require.Contains(t, out, "  Batch size: 1\n")
	require.Contains(t, out, "Request concurrency: 1\n")
	require.True(t, strings.HasPrefix(strings.Split(strings.TrimSpace(out), "\n")[len(strings.Split(strings.TrimSpace(out), "\n"))-1], "Concurrency: 1, throughput: "), "perf_analyzer's last line, no table")

	// Grouped letters, values joined and apart, prefixes, trailing letters in
	// numbers, arguments that mean nothing.
	code, out, errs = run(t, nil, "-avp500x", "nothing", "-mnull", "--stab=99999", "--conc", "2x", "-u", s.Address, "--shared-memory", "none", "--max-threads", "4", "--", "-k")
	require.Zero(t, code, errs)
	require.Contains(t, out, "  Measurement window: 500 msec\n  Using asynchronous calls for inference\n")
	require.Contains(t, out, "Request concurrency: 2\n  Pass [1] throughput: ")
}

func TestSettingsPrecedence(t *testing.T) {
	s := nullServer(t)
	file := filepath.Join(t.TempDir(), "perf.yaml")
	require.NoError(t, os.WriteFile(file, []byte("measurement-interval: 30\nmax-trials: 4\nasync: true\nstability-percentage: 99999\n"), 0o600))
	for name, c := range map[string]struct {
		environ, args []string
		want          string
	}{
		"file":        {nil, nil, "window: 30 msec"},
		"environment": {[]string{"TRITON_MEASUREMENT_INTERVAL=40"}, nil, "window: 40 msec"},
		"flag":        {[]string{"TRITON_MEASUREMENT_INTERVAL=40"}, []string{"-p", "50"}, "window: 50 msec"},
	} {
		t.Run(name, func(t *testing.T) {
			_, out, errs := run(t, c.environ, append([]string{"-m", "null", "-u", s.Address, "--config", file}, c.args...)...)
			require.Contains(t, out, c.want, errs) // a busy machine may send nothing in so short a window
			require.Contains(t, out, "Using asynchronous calls")
		})
	}
}

func TestSweepAndCSV(t *testing.T) {
	s := nullServer(t)
	file := filepath.Join(t.TempDir(), "out.csv")
	code, out, errs := run(t, nil, quick(s.Address, "-b", "1,4:8:4", "--concurrency-range", "1:2", "-f", file)...)
	require.Zero(t, code, errs)
	require.Contains(t, out, "  Batch size: 1,4,8\n")
	require.Equal(t, 6, strings.Count(out, ", throughput: "))
	require.Contains(t, out, "*** Batch size: 8 ***\nRequest concurrency: 1\n")
	require.Contains(t, out, "│ Batch │ Concurrency │")
	csv, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, 7, strings.Count(string(csv), "\n"))

	code, _, errs = run(t, nil, quick(s.Address, "-f", filepath.Join(file, "x"))...)
	require.Equal(t, 99, code)
	require.Contains(t, errs, "is not a folder")
}

func TestOutputs(t *testing.T) {
	s := nullServer(t)
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	code, out, errs := run(t, nil, quick(s.Address, "-o", in("a.json"), "-o", in("a.csv"), "-o", in("a.md"), "-o", in("a.html"), "-o", in("a.txt"))...)
	require.Zero(t, code, errs)
	require.Contains(t, out, "Inferences/Second vs. Client Average Batch Latency\n", "standard output stays perf_analyzer's")
	for name, want := range map[string]string{
		"a.json": `"format": "triton-perf-result"`, "a.csv": "batch_size,concurrency,inferences_per_second,",
		"a.md": "# Model null\n", "a.html": "<!DOCTYPE html>", "a.txt": "│ Batch │ Concurrency │ Infer/s │",
	} {
		text, err := os.ReadFile(in(name))
		require.NoError(t, err)
		require.Contains(t, string(text), want)
	}

	code, out, errs = run(t, nil, quick(s.Address, "--output", "json")...)
	require.Zero(t, code)
	var result struct {
		Levels []struct {
			Batch int `json:"batch_size"`
		} `json:"levels"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &result), "standard output has only the result")
	require.Len(t, result.Levels, 1)
	require.Contains(t, errs, "Inferences/Second vs. Client Average Batch Latency\n")
}

func TestExitCodes(t *testing.T) {
	s := nullServer(t)
	code, out, errs := run(t, nil, "-m", "null", "-u", s.Address, "-p", "200", "-r", "2")
	require.Equal(t, 2, code)
	require.Equal(t, "Failed to obtain stable measurement within 2 measurement windows for concurrency 1. Please try to increase the --measurement-interval.\nFailed to obtain stable measurement.\n\n", errs)
	require.Contains(t, out, "[WARNING] This level is not stable: its windows differ by more than 10 %.\n")
	require.True(t, strings.HasSuffix(out, ", not stable\n"), out)

	code, _, errs = run(t, nil, "-m", "nosuch", "-u", s.Address)
	require.Equal(t, 99, code)
	require.Equal(t, "error: failed to get model metadata: Request for unknown model: 'nosuch' is not found\n\n", errs)

	code, _, errs = run(t, nil, quick("127.0.0.1:1")...)
	require.Equal(t, 99, code)
	require.Contains(t, errs, "error: failed to get model metadata: HTTP client failed: Couldn't connect to server")

	code, _, errs = run(t, nil, "--version")
	require.Zero(t, code)
	require.Equal(t, "Perf Analyzer Version 1.2.3 (commit unknown)\n", errs)
	code, out, _ = run(t, nil, "--help")
	require.Zero(t, code)
	for _, group := range []string{"I. MEASUREMENT PARAMETERS", "II. INPUT DATA OPTIONS", "III. SERVER DETAILS", "IV. OTHER OPTIONS", "--concurrency-range <start:end:step|list>"} {
		require.Contains(t, out, group)
	}
}

func TestFailedAndMissingRequests(t *testing.T) {
	s := nullServer(t)
	s.Respond = func(uint64) (string, bool) { return loadtest.Response("500 X", `{"error":"no luck today"}`), false }
	const lost = "Failed to maintain requested inference load. Worker thread(s) failed to generate concurrent requests.\n"
	code, _, errs := run(t, nil, quick(s.Address)...)
	require.Equal(t, 99, code)
	require.Equal(t, lost+"Thread [0] had error: no luck today\n\n\n", errs)
	code, _, errs = run(t, nil, quick(s.Address, "--concurrency-range", "2")...)
	require.Equal(t, 99, code)
	errs, ok := strings.CutPrefix(errs, lost) // the first failure ends the measurement, with or without the other one
	require.True(t, ok, errs)
	require.Regexp(t, `^(Thread \[[01]\] had error: no luck today\n\n){1,2}\n$`, errs)

	if _, err := os.Stat("/dev/full"); err == nil { // not on macOS
		code, _, errs = run(t, nil, quick(s.Address, "-o", "/dev/full", "--output", "json")...)
		require.Equal(t, 99, code)
		require.Contains(t, errs, "write /dev/full: no space left on device\n\nFailed to maintain requested inference load.", "both errors")
	}

	hang := nullServer(t)
	release := make(chan struct{})
	hang.Respond = func(uint64) (string, bool) { <-release; return "", true }
	defer close(release)
	code, _, errs = run(t, nil, quick(hang.Address, "-r", "1")...)
	require.Equal(t, 3, code)
	require.Equal(t, "No valid requests recorded within time interval. Please use a larger time window.\n\n", errs)
}

func TestInterrupts(t *testing.T) {
	s := nullServer(t)
	var once sync.Once
	c := clitest.New()
	s.Respond = func(n uint64) (string, bool) {
		if n == 4000 { // late enough for the first window to have begun
			once.Do(func() { // timeout(1) signals the program and its process group
				c.Signals <- syscall.SIGTERM
				c.Signals <- syscall.SIGTERM
			})
		}
		return "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", false
	}
	code, out, errs := c.Start(nil, "perf", "-m", "null", "-u", s.Address, "-p", "60000", "--concurrency-range", "1:4").Wait(t)
	require.Zero(t, code)
	require.Contains(t, out, "Interrupt signal (2) received.\nWaiting for in-flight inferences to complete.\n")
	require.Contains(t, out, "    Request count: ")
	require.Contains(t, out, "\nConcurrency: 1, throughput: ")
	require.Equal(t, "Received exit signal.\n", clientWarning.ReplaceAllString(errs, ""))

	hang := nullServer(t)
	release := make(chan struct{})
	defer close(release)
	twice := clitest.New()
	hang.Respond = func(uint64) (string, bool) {
		again := time.NewTicker(100 * time.Millisecond)
		defer again.Stop()
		for {
			select {
			case <-again.C:
				select {
				case twice.Signals <- syscall.SIGINT:
				default: // the program has not taken the last ones
				}
			case <-release:
				return "", true
			}
		}
	}
	code, out, _ = twice.Start(nil, "perf", "-m", "null", "-u", hang.Address, "-p", "60000").Wait(t)
	require.Zero(t, code)
	require.True(t, strings.HasSuffix(out, "Interrupt signal (2) received.\nExiting immediately...\n"), out)
}

func TestRunAsPerfAnalyzer(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"perf_analyzer", "perf_client"} {
		code, _, errs := clitest.RunAs(t, "/usr/bin/"+name, "--version")
		require.Zero(t, code)
		require.Contains(t, errs, "Perf Analyzer Version 1")
	}
}

// TestSeveralModels measures the models of two servers at once.
func TestSeveralModels(t *testing.T) {
	t.Parallel()
	a, b := nullServer(t), nullServer(t)
	dir := t.TempDir()
	args := quick(a.Address, "--concurrency-range", "1:2", "-f", filepath.Join(dir, "x.csv"), ":")
	args = append(args, quick(b.Address, "--concurrency-range", "3:4", "-f", filepath.Join(dir, "x.csv"))...)
	code, out, errs := run(t, nil, args...)
	require.Zero(t, code, errs)
	require.Equal(t, 2, strings.Count(out, "*** Measurement Settings ***"))
	for _, level := range []string{"Request concurrency: 1\n", "Request concurrency: 2\n", "Request concurrency: 3\n", "Request concurrency: 4\n"} {
		require.Equal(t, 1, strings.Count(out, level), out)
	}
	require.Less(t, strings.Index(out, "Request concurrency: 3\n"), strings.Index(out, "Request concurrency: 2\n"), "the levels of both are printed together")
	for _, name := range []string{"null.x.csv", "null-2.x.csv"} {
		csv, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, 3, strings.Count(string(csv), "\n"), string(csv))
	}

	code, _, errs = run(t, nil, "-m", "null", "-m", "nosuch", "-u", a.Address, "-p", "500")
	require.Equal(t, 99, code)
	require.Contains(t, errs, "The measurement of nosuch failed: the others end.")
	require.Contains(t, errs, "nosuch: error: failed to get model metadata: Request for unknown model: 'nosuch' is not found\n\n")
}
