package main_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/sharedtest"
)

// TestSystemd starts the binary as systemd does, with an open socket and a socket for messages.
// A request that arrives between two servers is answered by the second.
func TestSystemd(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: starts the binary")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	address := filepath.Join(t.TempDir(), "notify")
	messages, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
	require.NoError(t, err)
	defer messages.Close()

	ready := make(chan error, 1)
	ask := func() {
		resp, err := http.Get("http://" + l.Addr().String() + "/v2/health/ready")
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				err = fmt.Errorf("the server is not ready: %s", resp.Status)
			}
		}
		ready <- err
	}
	for range 2 {
		go ask() // the system accepts the connection
		cmd, log := startUnderSystemd(t, l.(*net.TCPListener), address)
		requireMessage(t, messages, "STATUS=loading models")
		requireMessage(t, messages, "READY=1")
		requireMessage(t, messages, "WATCHDOG=1")
		require.NoError(t, <-ready)
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		requireMessage(t, messages, "STOPPING=1")
		require.NoError(t, cmd.Wait(), log.String())
	}
}

// startUnderSystemd starts a server whose HTTP service uses a socket that is open.
func startUnderSystemd(t *testing.T, l *net.TCPListener, messages string) (*exec.Cmd, *sharedtest.LogBuffer) {
	t.Helper()
	socket, err := l.File()
	require.NoError(t, err)
	defer socket.Close()
	log := &sharedtest.LogBuffer{}
	// The shell knows the number of the process, which it keeps.
	cmd := exec.Command("sh", "-c", `LISTEN_PID=$$ exec "$0" "$@"`, tritonBinary(t), "serve", "--model-repository", t.TempDir(),
		"--allow-grpc=false", "--allow-metrics=false", "--http-port=1") // of which a user could not open the port
	// The messages of a short watchdog would fill the queue, which holds ten, while this test does not read.
	cmd.Env = append(os.Environ(), "NOTIFY_SOCKET="+messages, "WATCHDOG_USEC=60000000", "LISTEN_FDS=1", "LISTEN_FDNAMES=http")
	cmd.ExtraFiles = []*os.File{socket}
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, log
}

// requireMessage reads messages until one begins with a text.
func requireMessage(t *testing.T, from *net.UnixConn, want string) {
	t.Helper()
	require.NoError(t, from.SetReadDeadline(time.Now().Add(2*time.Minute)))
	for b := make([]byte, 4096); ; {
		n, err := from.Read(b)
		require.NoError(t, err, "no message %q", want)
		if strings.HasPrefix(string(b[:n]), want) {
			return
		}
	}
}
