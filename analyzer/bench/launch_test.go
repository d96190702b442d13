package bench

import (
	"bytes"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// serverMode is the environment variable that makes the test binary a server.
const serverMode = "TRITON_TEST_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(serverMode) != "" {
		os.Exit(serve())
	}
	if os.Getenv(helperMode) != "" {
		os.Exit(helper())
	}
	if mode := os.Getenv(fakeMode); mode != "" {
		os.Exit(fake(mode))
	}
	if in := os.Getenv("SCRATCH_IN"); in != "" {
		dir, _, err := NewScratch(in, "triton-test-")
		if err != nil {
			panic(err)
		}
		_, _ = os.Stdout.WriteString(filepath.Base(dir) + "\n")
		_, _ = os.Stdin.Read(make([]byte, 1)) // until it is killed
		return
	}
	goleak.VerifyTestMain(m)
}

// serve answers readiness, and prints its arguments and environment, one a line.
func serve() int {
	port := ""
	for _, a := range os.Args[1:] {
		os.Stdout.WriteString("arg " + a + "\n")
		if p, ok := strings.CutPrefix(a, "--http-port="); ok {
			port = p
		}
	}
	for _, e := range os.Environ() {
		os.Stdout.WriteString("env " + e + "\n")
	}
	err := http.ListenAndServe("127.0.0.1:"+port, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	os.Stderr.WriteString(err.Error())
	return 1
}

func local(t *testing.T, log *bytes.Buffer) Local {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	return Local{
		Command:    slices.Concat([]string{program, "serve"}, CommonFlags(250*time.Millisecond)),
		Repository: "/models", Env: []string{serverMode + "=1", "HOME=/home/me"}, ReadyTimeout: 20 * time.Second, Log: log,
	}
}

func TestLocal(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	l := local(t, &log)
	l.Devices = []string{"GPU-1", "GPU-2"}
	s, err := l.Launch(t.Context(), Setup{Flags: []string{"--log-verbose=1"}, Env: map[string]string{"DATA": "$HOME/data"}})
	require.NoError(t, err)
	require.Len(t, s.PIDs(), 1)
	at := s.Endpoints()
	require.True(t, strings.HasPrefix(at.Metrics, "http://127.0.0.1:"))
	require.True(t, strings.HasSuffix(at.Metrics, "/metrics"))
	require.NoError(t, s.Err())
	require.NoError(t, s.Close())
	<-s.Done()

	lines := strings.Split(log.String(), "\n")
	assert.Subset(t, lines, []string{
		"arg serve", "arg --model-control-mode=explicit", "arg --metrics-interval-ms=250", "arg --log-verbose=1", "arg --model-repository=/models",
		"env DATA=/home/me/data", "env CUDA_VISIBLE_DEVICES=GPU-1,GPU-2",
	})
}

// No devices hide all devices; devices that nobody has chosen are left to the server.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	base := []string{"A=1"}
	assert.Equal(t, []string{"A=1"}, environment(base, nil, nil))
	assert.Equal(t, []string{"A=1", "CUDA_VISIBLE_DEVICES="}, environment(base, []string{}, nil))
	assert.Equal(t, []string{"A=1", "B=1/", "C=x"}, environment(base, nil, map[string]string{"C": "x", "B": "${A}/$NONE"}))
}

// A foreign server on the ports is not measured.
func TestPortsTaken(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	ports, err := Ports(Endpoints{HTTP: listener.Addr().String(), GRPC: "localhost:8001", Metrics: "http://localhost:8002/metrics"})
	require.NoError(t, err)
	assert.Equal(t, []string{"8001", "8002"}, ports[1:])
	l := local(t, nil)
	l.Ports, l.Log = ports, nil
	_, err = l.Launch(t.Context(), Setup{})
	require.ErrorContains(t, err, "Another application (likely a Triton Server) is already using the desired port.")

	_, err = Ports(Endpoints{HTTP: "localhost", GRPC: "localhost:1", Metrics: "localhost:2"})
	require.ErrorContains(t, err, `endpoint "localhost" is not HOST:PORT`)
}

func TestOthers(t *testing.T) {
	t.Parallel()
	at := Endpoints{HTTP: "a:1", GRPC: "a:2", Metrics: "http://a:3/metrics"}
	for _, l := range []Launcher{Running{at}, None{func() []int { return []int{7} }}} {
		s, err := l.Launch(t.Context(), Setup{})
		require.NoError(t, err)
		select {
		case <-s.Done():
			t.Error("it has not ended")
		default:
		}
		require.NoError(t, s.Err())
		require.NoError(t, s.Close())
		if _, ok := l.(Running); ok {
			assert.Equal(t, at, s.Endpoints())
			assert.Empty(t, s.PIDs())
			continue
		}
		assert.Equal(t, Endpoints{}, s.Endpoints())
		assert.Equal(t, []int{7}, s.PIDs())
	}
}
