package bench

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"triton/analyzer/trial"
)

// fakeEngine is Docker's engine on a Unix socket. The server of its containers is ready if ready is set.
type fakeEngine struct {
	host   string
	server *httptest.Server // of the container's HTTP port
	mu     struct {
		sync.Mutex
		calls   []string
		body    map[string]any
		missing bool // the image is not there
		refuse  string
	}
	stopped chan struct{}
	exit    chan int // ends the container by itself
}

func newFake(t *testing.T) *fakeEngine {
	t.Helper()
	f := &fakeEngine{stopped: make(chan struct{}), exit: make(chan int, 1)}
	socket := filepath.Join(t.TempDir(), "docker.sock")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	s := &http.Server{Handler: f, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(listener) }()
	f.server = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(func() {
		f.server.Close()
		_ = s.Close()
	})
	f.host = "unix://" + socket
	return f
}

// frame is output of a container without a terminal.
func frame(text string) []byte {
	b := []byte{2, 0, 0, 0, 0, 0, 0, 0}
	binary.BigEndian.PutUint32(b[4:], uint32(len(text)))
	return append(b, text...)
}

func (f *fakeEngine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/"+apiVersion)
	f.mu.Lock()
	f.mu.calls = append(f.mu.calls, r.Method+" "+path)
	missing, refuse := f.mu.missing, f.mu.refuse
	f.mu.Unlock()
	fail := func(status int, text string) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]string{"message": text})
	}
	switch {
	case path == "/containers/create" && missing:
		fail(http.StatusNotFound, "No such image")
	case path == "/containers/create":
		f.mu.Lock()
		_ = json.NewDecoder(r.Body).Decode(&f.mu.body)
		f.mu.Unlock()
		fmt.Fprint(w, `{"Id": "abc"}`)
	case path == "/images/create":
		f.mu.Lock()
		f.mu.missing = false
		f.mu.Unlock()
		fmt.Fprint(w, `{"status": "Pulling"}{"status": "Done"}`)
	case path == "/containers/abc/start" && refuse != "":
		fail(http.StatusInternalServerError, refuse)
	case path == "/containers/abc/logs":
		_, _ = w.Write(frame("starting\n"))
		w.(http.Flusher).Flush()
		select {
		case <-f.stopped:
		case <-r.Context().Done():
		}
	case path == "/containers/abc/wait":
		select {
		case code := <-f.exit:
			fmt.Fprintf(w, `{"StatusCode": %d}`, code)
		case <-f.stopped:
		case <-r.Context().Done():
		}
	case path == "/containers/abc/stats":
		fmt.Fprint(w, `{"memory_stats": {"usage": 500000000, "limit": 2000000000, "stats": {"inactive_file": 100000000}}}`)
	case path == "/containers/abc/stop":
		close(f.stopped)
		w.WriteHeader(http.StatusNoContent)
	}
}

func (f *fakeEngine) calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.calls
}

// launcher returns a launcher for the engine. The container's HTTP port is that of the fake server.
func (f *fakeEngine) launcher(log *bytes.Buffer) Docker {
	_, port, _ := net.SplitHostPort(f.server.Listener.Addr().String())
	return Docker{
		Host: f.host, Image: "tritonserver:1", Repository: "/models", Mounts: []string{"/a:/b:ro"}, Labels: map[string]string{"team": "x"},
		ShmSize: "1g", Ports: []string{port, "2", "3"}, Devices: []string{"GPU-1"}, MetricsInterval: time.Second, ReadyTimeout: 10 * time.Second, Log: log,
	}
}

// containerArguments are those of a container.
var containerArguments = map[string]any{
	"mem_limit": "512m", "environment": []string{"A=1"}, "volumes": []string{"/c:/d:rw"}, "privileged": true, "cpu_shares": int64(5),
	"name": "mine", "labels": []string{"job=y"}, "detach": true,
}

func TestLaunch(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.mu.missing = true
	var log bytes.Buffer
	l := f.launcher(&log)
	s, err := l.Launch(t.Context(), Setup{Flags: []string{"--log-verbose=1"}, Env: map[string]string{"B": "2"}, Container: containerArguments})
	require.NoError(t, err)
	assert.Equal(t, Endpoints{HTTP: "127.0.0.1:" + l.Ports[0], GRPC: "127.0.0.1:2", Metrics: "http://127.0.0.1:3/metrics"}, s.Endpoints())
	assert.Empty(t, s.PIDs())
	require.NoError(t, s.Err())
	r, err := s.(*container).Memory(t.Context())
	require.NoError(t, err)
	assert.Equal(t, trial.Values{trial.CPUUsedRAM: 400, trial.CPUAvailableRAM: 1600}, r.Host)
	require.Eventually(t, func() bool { return strings.Contains(s.(*container).log.last(maxTail), "starting") }, 10*time.Second, time.Millisecond)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close(), "a second time")
	<-s.Done()
	require.NoError(t, s.Err())

	assert.Subset(t, f.calls(), []string{
		"POST /containers/create", "POST /images/create", "POST /containers/abc/start", "POST /containers/abc/stop", "DELETE /containers/abc",
	})
	assert.Equal(t, "starting\n", log.String())
	b := f.mu.body
	host := b["HostConfig"].(map[string]any)
	assert.Equal(t, "tritonserver:1", b["Image"])
	assert.Equal(t, []any{
		"tritonserver", "--model-repository=/models", "--model-control-mode=explicit", "--http-port=" + l.Ports[0], "--grpc-port=2", "--metrics-port=3",
		"--metrics-interval-ms=1000", "--log-verbose=1",
	}, b["Cmd"])
	assert.Equal(t, []any{"B=2", "A=1"}, b["Env"])
	assert.Equal(t, map[string]any{"team": "x", "job": "y"}, b["Labels"])
	assert.Equal(t, []any{"/models:/models:ro", "/a:/b:ro", "/c:/d:rw"}, host["Binds"])
	assert.InDelta(t, 512<<20, host["Memory"], 0)
	assert.InDelta(t, 1<<30, host["ShmSize"], 0)
	assert.Equal(t, true, host["Privileged"])
	assert.InDelta(t, 5, host["CpuShares"], 0)
	assert.Equal(t, []any{map[string]any{"DeviceIDs": []any{"GPU-1"}, "Capabilities": []any{[]any{"gpu"}}}}, host["DeviceRequests"])
	assert.Equal(t, []any{map[string]any{"HostIp": "127.0.0.1", "HostPort": "2"}}, host["PortBindings"].(map[string]any)["2/tcp"])
}

func TestFailures(t *testing.T) {
	t.Parallel()
	t.Run("no engine", func(t *testing.T) {
		t.Parallel()
		l := newFake(t).launcher(nil)
		l.Host = "unix://" + filepath.Join(t.TempDir(), "none.sock")
		_, err := l.Launch(t.Context(), Setup{})
		require.ErrorContains(t, err, "the Docker engine does not answer at unix://")
		require.ErrorContains(t, err, "--triton-launch-mode docker needs a running engine and access to its socket")
		l.Host = "ssh://somewhere"
		_, err = l.Launch(t.Context(), Setup{})
		require.ErrorContains(t, err, "the engine is reached over unix://PATH or tcp://HOST:PORT")
	})
	t.Run("not started", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.mu.refuse = "port is already allocated"
		l := f.launcher(nil)
		l.Log = nil
		_, err := l.Launch(t.Context(), Setup{})
		require.EqualError(t, err, "the Docker engine: port is already allocated (status 500)")
		require.Contains(t, f.calls(), "DELETE /containers/abc")
	})
	t.Run("ends at start", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.server.Close()
		f.exit <- 1
		l := f.launcher(nil)
		l.Log = nil
		_, err := l.Launch(t.Context(), Setup{})
		require.ErrorContains(t, err, "the server in the container ended by itself (exit status 1)")
		require.Contains(t, f.calls(), "DELETE /containers/abc")
	})
	t.Run("never ready", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.server.Close()
		l := f.launcher(nil)
		l.Log, l.ReadyTimeout = nil, 50*time.Millisecond
		_, err := l.Launch(t.Context(), Setup{})
		require.ErrorContains(t, err, "the server in the container was not ready within 50ms")
		require.Contains(t, f.calls(), "POST /containers/abc/stop")
	})
	t.Run("killed under load", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		l := f.launcher(nil)
		l.Log = nil
		s, err := l.Launch(t.Context(), Setup{})
		require.NoError(t, err)
		f.exit <- 137
		<-s.Done()
		require.ErrorContains(t, s.Err(), "exit status 137")
		require.NoError(t, s.Close())
	})
	l := Docker{Ports: []string{"1", "2", "3"}}
	_, err := l.Launch(t.Context(), Setup{Container: map[string]any{"mem_limit": "much"}})
	require.EqualError(t, err, `triton_docker_args mem_limit: "much" is not a size such as 512m or 1g`)
}

func TestSize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"100": 100, "2k": 2048, "64m": 64 << 20, "1G": 1 << 30, "1gb": 1 << 30, "100b": 100, "-1": -1} {
		got, err := byteSize(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "m", "1.5g", "-2", "9223372036854775807k"} {
		_, err := byteSize(text)
		require.Error(t, err, text)
	}
}

func TestCopyLogs(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, copyLogs(&out, bytes.NewReader(append(frame("a"), frame("bc")...)), false))
	require.Equal(t, "abc", out.String())
	require.Error(t, copyLogs(&out, bytes.NewReader(frame("abc")[:9]), false))
	require.NoError(t, copyLogs(&out, strings.NewReader("!"), true))
	require.Equal(t, "abca!", out.String())
}
