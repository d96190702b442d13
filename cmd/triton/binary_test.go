package main_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/cmd/cli/process"
	servecommand "triton/cmd/cli/serve"
	"triton/pkg/sharedtest"
	"triton/server/servertest"
)

// The tests of this package run the real binary as users do. It is built once,
// by the first test that needs it.
var (
	buildDir  string
	buildOnce sync.Once
	buildErr  error
)

func TestMain(m *testing.M) {
	if servecommand.IsIsolatedModel(os.Args) { // of a server of TestChaos, whose environment it does not have
		os.Exit(servecommand.RunIsolatedModel(process.OS("", "")))
	}
	if address := os.Getenv(profileVariable); address != "" {
		os.Exit(serveProfiled(address))
	}
	os.Setenv("TRITON_SERVE_GRPC_TRANSPORT", servertest.GRPCTransport().String()) // of the servers that tests start
	if servertest.OnePort() {
		os.Setenv("TRITON_SERVE_HTTP_GRPC_ONE_PORT", "true")
	}
	dir, err := os.MkdirTemp("", "triton-binary-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	buildDir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

func tritonBinary(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(buildDir, "triton")
	buildOnce.Do(func() {
		if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
			buildErr = fmt.Errorf("%w: %s", err, out)
		}
	})
	require.NoError(t, buildErr)
	return binary
}

// root is a path below the repository's root.
func root(t *testing.T, elem ...string) string {
	t.Helper()
	p, err := filepath.Abs(filepath.Join(append([]string{"..", ".."}, elem...)...))
	require.NoError(t, err)
	return p
}

// needORT skips the test if the ONNX Runtime library is missing, and returns the flag that
// names it.
func needORT(t *testing.T) string {
	t.Helper()
	if lib := os.Getenv("TRITON_ONNXRUNTIME_LIBRARY"); lib != "" {
		return lib
	}
	found, _ := filepath.Glob(root(t, "lib", "libonnxruntime*"))
	if len(found) == 0 {
		t.Skip("ONNX Runtime is not in lib/: run `make onnxruntime`")
	}
	return found[0]
}

// exampleModels writes the example repository, or some models of it.
func exampleModels(t *testing.T, models ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "models")
	args := []string{"repo", "example", dir}
	for _, m := range models {
		args = append(args, "--model", m)
	}
	out, err := exec.CommandContext(t.Context(), tritonBinary(t), args...).CombinedOutput()
	require.NoError(t, err, string(out))
	return dir
}

// server is a child process of the real binary.
type server struct {
	cmd        *exec.Cmd
	http, grpc string // addresses
	metrics    string
	log        *sharedtest.LogBuffer
	done       chan struct{}
	err        error
}

// serve starts the binary on free ports and waits until it is ready.
func serve(t *testing.T, models string, args ...string) *server {
	t.Helper()
	return start(t, exec.Command(tritonBinary(t), append([]string{"serve", "--model-repository", models}, args...)...))
}

// start runs a server's command line with free ports added.
func start(t *testing.T, cmd *exec.Cmd) *server {
	t.Helper()
	return startAt(t, cmd, sharedtest.Ports(t, 3))
}

// startAt is start with the ports of HTTP, gRPC and the metrics.
func startAt(t *testing.T, cmd *exec.Cmd, p []int) *server {
	t.Helper()
	cmd.Args = append(cmd.Args,
		"--http-address=127.0.0.1", "--grpc-address=127.0.0.1", "--metrics-address=127.0.0.1",
		"--http-port="+strconv.Itoa(p[0]), "--grpc-port="+strconv.Itoa(p[1]), "--metrics-port="+strconv.Itoa(p[2]))
	return launch(t, cmd, p)
}

// launch starts a command line that listens on those ports, and waits until it is ready.
func launch(t *testing.T, cmd *exec.Cmd, p []int) *server {
	t.Helper()
	at := func(i int) string { return "127.0.0.1:" + strconv.Itoa(p[i]) }
	s := &server{cmd: cmd, http: at(0), grpc: at(1), metrics: at(2), log: &sharedtest.LogBuffer{}, done: make(chan struct{})}
	if servertest.OnePort() {
		s.grpc = s.http
	}
	cmd.Stdout, cmd.Stderr = s.log, s.log
	require.NoError(t, cmd.Start())
	go func() { s.err = cmd.Wait(); close(s.done) }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // lets NVIDIA's server end its Python children
		select {
		case <-s.done:
		case <-time.After(time.Minute): // longer than the exit timeout: a server that is killed leaves files and children behind
			_ = cmd.Process.Kill()
			<-s.done
		}
		if t.Failed() {
			t.Log(s.lastLog())
		}
	})
	s.waitReady(t)
	return s
}

func (s *server) waitReady(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.http+"/v2/health/ready", nil)
		require.NoError(t, err)
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-tick.C:
		case <-s.done:
			t.Fatalf("the server ended before it was ready: %v", s.err)
		case <-ctx.Done():
			t.Fatal("the server was not ready in time")
		}
	}
}

// lastLog returns the end of the log for the output of a failed test. It is short, so that it does not hide
// what failed.
func (s *server) lastLog() string {
	const most, width = 40, 200
	lines := strings.Split(strings.TrimSpace(s.log.String()), "\n")
	title := fmt.Sprintf("server log, %d lines:", len(lines))
	if n := len(lines) - most; n > 0 {
		title = fmt.Sprintf("server log, the last %d of %d lines:", most, len(lines))
		lines = lines[n:]
	}
	for i, line := range lines {
		if len(line) > width {
			lines[i] = fmt.Sprintf("%s ... (%d more bytes)", line[:width], len(line)-width)
		}
	}
	return title + "\n" + strings.Join(lines, "\n")
}

// requireLogged waits until the server has written a text to its log, which reaches this process later
// than an answer, through a pipe.
func (s *server) requireLogged(t *testing.T, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(s.log.String(), text) }, time.Minute, 5*time.Millisecond, "%q is not in the log", text)
}

// stop sends SIGTERM and expects exit code 0.
func (s *server) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-s.done:
	case <-time.After(60 * time.Second):
		t.Fatal("the server did not stop")
	}
	require.NoError(t, s.err)
}
