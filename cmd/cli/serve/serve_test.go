package serve_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/cmd/cli/clitest"
	"triton/cmd/cli/process"
	"triton/pkg/sharedtest"
)

func TestHelp(t *testing.T) {
	t.Parallel()
	code, out, errs := clitest.Run(t, nil, "serve", "--help")
	require.Zero(t, code)
	require.Empty(t, errs)
	path := filepath.Join("testdata", "serve_help.txt")
	if sharedtest.UpdateGolden() {
		require.NoError(t, os.WriteFile(path, []byte(out), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), out)
	_, alias, _ := clitest.Run(t, nil, "tritonserver", "--help")
	require.Equal(t, out, alias)
}

func TestWrongUse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{"--allow-http=x", "Bad option: \"--allow-http\".\ninvalid value for bool option: x"},
		{"--http-port=x", "Bad option: \"--http-port\".\nInvalid option value. Got x"},
		{"--http-port=99999999999999999999", "Bad option: \"--http-port\".\nProvided option value is out of bound. Got 99999999999999999999"},
		{"--http-port=70000", "Bad option: \"--http-port\".\nProvided option value is out of bound. Got 70000, the range is 0 to 65535"},
		{"--htp-port=1", "unknown flag --htp-port; did you mean --http-port?"},
		{"--qqqqqqqqqqqq", "unknown flag --qqqqqqqqqqqq"},
		{"--log-f=default", "--log-f is ambiguous: it may be --log-format, --log-file"},
		{"stray", "Unexpected argument: stray"},
		{"testdata", "Unexpected argument: testdata; did you mean --model-repository=testdata?"},
		{"--allow-http", "option '--allow-http' requires an argument"},
		{"--log-format=foo", "Bad option: \"--log-format\".\ninvalid argument for --log-format: use one of default, ISO8601, json"},
		{"--log-verbose=yes", "Bad option: \"--log-verbose\".\nInvalid option value. Got yes"},
		{"--http-max-input-size=0", "Bad option: \"--http-max-input-size\".\nError: --http-max-input-size must be greater than 0."},
		{"--grpc-infer-thread-count=1", "Bad option: \"--grpc-infer-thread-count\".\ninvalid argument for --grpc_infer_thread_count. Must be in the range 2 to 128."},
		{"--backend-config=,a=b", "Bad option: \"--backend-config\".\nNo backend specified. --backend-config option format is <backend name>,<setting>=<value> or <setting>=<value>. Got ,a=b"},
		{"--backend-config=foo", "Bad option: \"--backend-config\".\n--backend-config option format is '<backend name>,<setting>=<value>'. Got foo"},
		{"--backend-config=a=b,c", "Bad option: \"--backend-config\".\n--backend-config option format is '<backend name>,<setting>=<value>'. Got a=b,c"},
		{"--cuda-memory-pool-byte-size=1", "Bad option: \"--cuda-memory-pool-byte-size\".\nCannot parse pair option due to incorrect number of inputs.--<pair option> argument requires format <first>:<second>. Found: 1"},
		{"--model-control-mode=foo", "Bad option: \"--model-control-mode\".\ninvalid argument for --model-control-mode: use one of none, poll, explicit, auto"},
		{"--rate-limit=foo", "Bad option: \"--rate-limit\".\ninvalid argument for --rate-limit: use one of off, execution_count"},
		{"--http-port=8000 --grpc-port=8000", "The server cannot listen to HTTP requests and GRPC requests at the same address and port 0.0.0.0:8000"},
	} {
		code, out, errs := clitest.Run(t, nil, append([]string{"serve"}, strings.Fields(c.args)...)...)
		require.Equal(t, 1, code, c.args)
		require.Empty(t, out)
		require.Equal(t, "triton: "+c.want+"\n", errs, c.args)
	}
}

func TestCannotStart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{"", "error: creating server: Invalid argument - --model-repository must be specified\n"},
		{"--model-repository /no/such/folder", "error: creating server: Internal - failed to stat file /no/such/folder\n"},
	} {
		code, _, errs := clitest.Run(t, nil, append([]string{"serve", "--http-port=0", "--grpc-port=0", "--allow-metrics=false"}, strings.Fields(c.args)...)...)
		require.Equal(t, 1, code)
		require.Contains(t, errs, c.want)
	}
}

// TestSources sets one port in each of the three places; the flag wins over
// the environment, and that over the file.
func TestSources(t *testing.T) {
	t.Parallel()
	models := clitest.Models(t)
	ports := sharedtest.Ports(t, 3)
	flagPort, envPort, filePort := ports[0], ports[1], ports[2]
	file := filepath.Join(t.TempDir(), "triton.yaml")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o644)) }
	write(fmt.Sprintf("model-repository: [%s]\nallow-grpc: false\nallow-metrics: false\nhttp-address: 127.0.0.1\nhttp-port: %d\nid: from-file\n", models, filePort))
	env := []string{fmt.Sprintf("TRITON_HTTP_PORT=%d", envPort), "TRITON_ID=from-environment"}
	for _, c := range []struct {
		name string
		env  []string
		args []string
		port int
		id   string
	}{
		{"file", nil, []string{"--config", file}, filePort, "from-file"},
		{"file named by the environment", []string{"TRITON_CONFIG=" + file}, nil, filePort, "from-file"},
		{"environment", env, []string{"--config", file}, envPort, "from-environment"},
		{"flag", env, []string{"--config", file, "--http-p", fmt.Sprint(flagPort), "--id=from-flag"}, flagPort, "from-flag"},
	} {
		p := clitest.New().Start(c.env, append([]string{"serve"}, c.args...)...)
		at := fmt.Sprintf("127.0.0.1:%d", c.port)
		p.Printed(t, "Started HTTPService at "+at)
		resp, err := http.Get("http://" + at + "/v2/health/ready")
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.Contains(t, p.Stdout.String(), "| "+c.id)
		p.Signals <- syscall.SIGTERM
		require.Zero(t, <-p.Exit)
		require.Contains(t, p.Stdout.String(), "Signal (15) received.")
	}

	write("http-prt: 1\n")
	code, _, errs := clitest.Run(t, nil, "serve", "--config", file)
	require.Equal(t, 1, code)
	require.Equal(t, "triton: "+file+": unknown setting \"http-prt\"; did you mean \"http-port\"?\n", errs)
	write("http-port: x\n")
	_, _, errs = clitest.Run(t, nil, "serve", "--config", file)
	require.Equal(t, "triton: "+file+": --http-port: Invalid option value. Got x\n", errs)
	_, _, errs = clitest.Run(t, []string{"TRITON_GRPC_PORT=y"}, "serve")
	require.Equal(t, "triton: environment variable TRITON_GRPC_PORT: --grpc-port: Invalid option value. Got y\n", errs)
	_, _, errs = clitest.Run(t, nil, "serve", "--config", file+"x")
	require.Contains(t, errs, "triton: reading the configuration file: ")
}

// TestWithoutLibrary: without the ONNX Runtime library the other models are served, and one
// log line names the way to install the library.
func TestWithoutLibrary(t *testing.T) {
	t.Parallel()
	models := clitest.Models(t)
	code, _, errs := clitest.Run(t, nil, "repo", "example", models, "--model", "simple")
	require.Zero(t, code, errs)
	p := clitest.New().Start(nil, "serve", "--model-repository", models, "--http-address=127.0.0.1", "--http-port=0",
		"--allow-grpc=off", "--allow-metrics=off", "--backend-directory", t.TempDir())
	p.Printed(t, "Started HTTPService at ")
	p.Signals <- syscall.SIGTERM
	require.Zero(t, <-p.Exit)
	if !strings.Contains(p.Stderr.String(), "models for ONNX Runtime will not be served") {
		t.Skip("ONNX Runtime lies in a folder of the system")
	}
	require.Contains(t, p.Stderr.String(), "the ONNX Runtime library is missing: get it with 'make onnxruntime'")
	require.Contains(t, p.Stdout.String(), "| m      | 1       | READY ")
	require.Contains(t, p.Stdout.String(), "| simple | 1       | UNAVAILABLE: Unavailable: the ONNX Runtime library is missing")
}

// TestNamedLibraryMissing: a library that a flag names must exist.
func TestNamedLibraryMissing(t *testing.T) {
	t.Parallel()
	models := clitest.Models(t)
	code, _, errs := clitest.Run(t, nil, "repo", "example", models, "--model", "simple")
	require.Zero(t, code, errs)
	code, _, errs = clitest.Run(t, nil, "serve", "--http-port=0", "--grpc-port=0", "--metrics-port=0",
		"--model-repository", models, "--onnxruntime-library", "/no/such/library")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "error: creating server: Internal - failed to load all models\n")
	require.Contains(t, errs, "the ONNX Runtime library '/no/such/library' given by the setting --onnxruntime-library cannot be used")
}

// TestSecondSignal holds a request open, which the end waits for, until a
// signal that comes later than process.SignalWindow after the first.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	port := sharedtest.Ports(t, 1)[0]
	p := clitest.New().Start(nil, "serve", "--model-repository", clitest.Models(t), "--http-address=127.0.0.1", "--http-port", fmt.Sprint(port),
		"--allow-grpc=off", "--allow-metrics=off")
	p.Printed(t, "Started HTTPService at ")
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	require.NoError(t, err)
	defer conn.Close()
	_, err = fmt.Fprint(conn, "POST /v2/models/m/infer HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n")
	require.NoError(t, err)
	_, err = conn.Read(make([]byte, 12)) // the server has begun
	require.NoError(t, err)
	began := time.Now()
	p.Signals <- os.Interrupt
	p.Printed(t, "Waiting for in-flight")
	// The same signal that reaches the process twice is one.
	p.Signals <- os.Interrupt
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for code := -1; code < 0; {
		select {
		case code = <-p.Exit:
			require.Equal(t, 1, code)
		case <-again.C:
			select {
			case p.Signals <- os.Interrupt:
			default:
			}
		}
	}
	require.Greater(t, time.Since(began), process.SignalWindow)
	// A third signal may come before a busy machine has ended the process.
	require.GreaterOrEqual(t, strings.Count(p.Stdout.String(), "Signal (2) received."), 2, p.Stdout.String())
	require.Contains(t, p.Stderr.String(), "error: the server was stopped before all requests were answered\n")
}
