//go:build unix

package serve

import (
	"context"
	"net"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func env(m map[string]string) func(string) string { return func(k string) string { return m[k] } }

func TestNothing(t *testing.T) {
	t.Parallel()
	for _, m := range []map[string]string{
		{},
		{"LISTEN_PID": "8", "LISTEN_FDS": "1"}, // of a parent
		{"LISTEN_PID": "7", "LISTEN_FDS": "0"},
		{"WATCHDOG_USEC": "5", "WATCHDOG_PID": "8"},
	} {
		u, err := openSystemd(env(m), 7, "http")
		require.NoError(t, err)
		require.Nil(t, u.Listener("http"))
		require.Zero(t, u.watchdog)
		require.NoError(t, u.Notify(systemdReady))
		u.Watch(context.Background(), func() bool { panic("without a watchdog") })
		require.NoError(t, u.Close())
	}
}

func TestBadVariables(t *testing.T) {
	t.Parallel()
	for text, m := range map[string]map[string]string{
		`WATCHDOG_USEC is "x"`:  {"WATCHDOG_USEC": "x"},
		`WATCHDOG_USEC is "-1"`: {"WATCHDOG_USEC": "-1"},
		`LISTEN_FDS is ""`:      {"LISTEN_PID": "7"},
		`LISTEN_FDS is "-3"`:    {"LISTEN_PID": "7", "LISTEN_FDS": "-3"},
		`LISTEN_FDS is "9999"`:  {"LISTEN_PID": "7", "LISTEN_FDS": "9999"},
	} {
		_, err := openSystemd(env(m), 7)
		require.ErrorContains(t, err, text)
	}
}

// listen opens a port and returns it as a manager passes it: a descriptor that is inherited.
func listen(t *testing.T) (fd int, address string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	f, err := l.(*net.TCPListener).File()
	require.NoError(t, err)
	fd, err = syscall.Dup(int(f.Fd())) // openSystemd owns and closes it
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoError(t, l.Close())
	return fd, l.Addr().String()
}

func TestSockets(t *testing.T) {
	t.Parallel()
	fd, address := listen(t)
	u, err := openSystemdFrom(env(map[string]string{"LISTEN_PID": "7", "LISTEN_FDS": "1", "LISTEN_FDNAMES": "grpc"}), 7, fd, []string{"http", "grpc"})
	require.NoError(t, err)
	require.Nil(t, u.Listener("http"))
	l := u.Listener("grpc")
	require.Equal(t, address, l.Addr().String())
	require.Nil(t, u.Listener("grpc"), "it has one owner")
	c, err := net.Dial("tcp", address)
	require.NoError(t, err)
	accepted, err := l.Accept()
	require.NoError(t, err)
	require.NoError(t, accepted.Close())
	require.NoError(t, c.Close())
	require.NoError(t, l.Close())
	require.NoError(t, u.Close())
}

func TestWrongSockets(t *testing.T) {
	t.Parallel()
	for _, names := range []string{"", "triton.socket", "connection:http"} {
		fd, _ := listen(t)
		_, err := openSystemdFrom(env(map[string]string{"LISTEN_PID": "7", "LISTEN_FDS": "1", "LISTEN_FDNAMES": names}), 7, fd, []string{"http", "grpc"})
		require.ErrorContains(t, err, "one of http, grpc")
	}
}

// manager is the socket that receives messages.
func manager(t *testing.T) (address string, next func() string) {
	address = filepath.Join(t.TempDir(), "notify")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return address, func() string {
		b := make([]byte, 4096)
		n, err := c.Read(b)
		require.NoError(t, err)
		return string(b[:n])
	}
}

func TestNotify(t *testing.T) {
	t.Parallel()
	address, next := manager(t)
	u, err := openSystemd(env(map[string]string{"NOTIFY_SOCKET": address}), 7)
	require.NoError(t, err)
	require.NoError(t, u.Notify(systemdReady, systemdStatus("serving\nREADY=0")))
	require.Equal(t, "READY=1\nSTATUS=serving READY=0", next())
	require.NoError(t, u.Notify(systemdStopping))
	require.Equal(t, "STOPPING=1", next())

	u.notify += "-gone"
	require.ErrorContains(t, u.Notify(systemdReady), `telling systemd "READY=1"`)
}

func TestWatch(t *testing.T) {
	t.Parallel()
	address, next := manager(t)
	u, err := openSystemd(env(map[string]string{"NOTIFY_SOCKET": address, "WATCHDOG_USEC": strconv.Itoa(2000), "WATCHDOG_PID": "7"}), 7)
	require.NoError(t, err)
	require.Equal(t, 2*time.Millisecond, u.watchdog)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	checks := 0
	go func() {
		defer close(done)
		u.Watch(ctx, func() bool { checks++; return checks%2 == 0 })
	}()
	require.Equal(t, "WATCHDOG=1", next())
	require.Equal(t, "WATCHDOG=1", next())
	cancel()
	<-done
	require.GreaterOrEqual(t, checks, 4)
}
