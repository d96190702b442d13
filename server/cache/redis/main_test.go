package redis_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"triton/pkg/sharedtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// program is redis-server, from PATH or from build/tools of the project.
func program(t testing.TB) string {
	t.Helper()
	if path, err := exec.LookPath("redis-server"); err == nil {
		return path
	}
	path, err := filepath.Abs("../../../build/tools/redis-server")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		t.Skip("no redis-server on PATH or in build/tools: make redis gets it")
	}
	return path
}

// start runs a real Redis on a free port until the test ends, or the returned
// function is called.
func start(t testing.TB, port string, args ...string) (at string, stop func()) {
	t.Helper()
	path := program(t)
	if port == "" {
		port = sharedtest.Port(t)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, path, append([]string{
		"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir(), "--daemonize", "no",
	}, args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	ready := make(chan struct{})
	go func() {
		defer close(ended)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if strings.Contains(lines.Text(), "Ready to accept connections") {
				close(ready)
				break
			}
		}
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
	}()
	stop = func() { cancel(); <-ended }
	t.Cleanup(stop)
	select {
	case <-ready:
	case <-ended:
		t.Fatal("redis-server ended")
	case <-time.After(time.Minute):
		t.Fatal("redis-server does not start")
	}
	return port, stop
}
