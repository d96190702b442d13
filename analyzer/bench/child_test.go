package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/analyzer/memory/meter"
	"triton/pkg/freeport"
	"triton/pkg/sharedtest"
)

// helperMode is the environment variable that makes this test program act as a server; its
// value selects the behavior.
const helperMode = "ANALYZER_TEST_SERVER"

func helper() int {
	f := flag.NewFlagSet("helper", flag.ContinueOnError)
	repository := f.String("model-repository", "", "")
	address, port := f.String("http-address", "", ""), f.String("http-port", "", "")
	for _, name := range []string{"grpc-address", "grpc-port", "metrics-address", "metrics-port"} {
		f.String(name, "", "")
	}
	if err := f.Parse(os.Args[2:]); err != nil || os.Args[1] != "serve" {
		return 2
	}
	fmt.Println("serving", *repository)
	mode := os.Getenv(helperMode)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	switch mode {
	case "fails":
		fmt.Fprintln(os.Stderr, "error: the model does not load")
		return 1
	case "taken":
		fmt.Fprintln(os.Stderr, "listen tcp: bind: address already in use")
		return 1
	case "taken once":
		if err := os.Mkdir(*repository, 0o755); err == nil { // by the first server
			fmt.Fprintf(os.Stderr, "error: failed to start HTTP service: Unavailable - Socket '%s:%s' already in use \n", *address, *port)
			return 1
		}
	case "silent":
		<-stop
		return 0
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v2/health/live", func(http.ResponseWriter, *http.Request) {})
	if mode != "without" { // whose readiness waits for its models
		mux.HandleFunc("GET /v2/health/ready", func(http.ResponseWriter, *http.Request) {})
		mux.HandleFunc("GET /v2/models/m/ready", func(http.ResponseWriter, *http.Request) {})
	}
	mux.HandleFunc("GET /die", func(http.ResponseWriter, *http.Request) {
		fmt.Fprintln(os.Stderr, "no memory left")
		os.Exit(3)
	})
	server := &http.Server{Addr: *address + ":" + *port, Handler: mux}
	go func() {
		<-stop
		if mode != "stubborn" {
			server.Close()
		}
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return 1
	}
	return 0
}

func childOf(mode string) Local {
	return Local{
		Command:      []string{os.Args[0], "serve"},
		Env:          append(os.Environ(), helperMode+"="+mode),
		ReadyTimeout: 20 * time.Second,
		StopTimeout:  10 * time.Second,
	}
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func TestChild(t *testing.T) {
	t.Parallel()
	s, err := childOf("good").Launch(t.Context(), Setup{Repository: "somewhere", Model: "m"})
	require.NoError(t, err)
	require.True(t, alive(s.PIDs()[0]))
	require.NoError(t, s.Err())
	at := s.Endpoints()
	require.NotEqual(t, at.HTTP, at.GRPC)
	require.NotEqual(t, at.GRPC, at.Metrics)
	if m, err := (meter.FS{}).Process(s.PIDs()[0]); err == nil {
		require.Positive(t, m.Own())
		require.GreaterOrEqual(t, m.RSS, m.Own())
	}
	require.NoError(t, s.Close())
	require.False(t, alive(s.PIDs()[0]))
	require.NoError(t, s.Err())
	require.NoError(t, s.Close())
}

func TestChildThatFails(t *testing.T) {
	t.Parallel()
	_, err := childOf("fails").Launch(t.Context(), Setup{Repository: "somewhere"})
	require.EqualError(t, err, "the server ended by itself (exit status 1); its last output:\n"+
		"  serving somewhere\n  error: the model does not load")
	_, err = Local{Command: []string{filepath.Join(t.TempDir(), "none")}}.Launch(t.Context(), Setup{})
	require.ErrorIs(t, err, os.ErrNotExist)
}

// The program is started again, on other ports, if another process has taken one. Only ports that the
// caller has chosen are tried once.
func TestChildWhosePortIsTaken(t *testing.T) {
	t.Parallel()
	var log sharedtest.LogBuffer
	c := childOf("taken once")
	c.Log = &log
	s, err := c.Launch(t.Context(), Setup{Repository: filepath.Join(t.TempDir(), "started")})
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(log.String(), "already in use"))
	require.Equal(t, 2, strings.Count(log.String(), "serving"))
	require.NotContains(t, log.String(), s.Endpoints().HTTP)
	require.NoError(t, s.Close())

	log = sharedtest.LogBuffer{}
	reserved, err := freeport.Reserve(3)
	require.NoError(t, err)
	c.Ports = nil
	for _, port := range reserved.Ports() {
		c.Ports = append(c.Ports, strconv.Itoa(port))
	}
	reserved.Release()
	_, err = c.Launch(t.Context(), Setup{Repository: filepath.Join(t.TempDir(), "started")})
	require.ErrorContains(t, err, fmt.Sprintf("Socket '127.0.0.1:%s' already in use", c.Ports[0]))
	require.Equal(t, 1, strings.Count(log.String(), "serving"))

	log = sharedtest.LogBuffer{}
	c = childOf("taken")
	c.Log = &log
	_, err = c.Launch(t.Context(), Setup{})
	require.ErrorContains(t, err, "address already in use")
	require.Equal(t, 3, strings.Count(log.String(), "serving"))
}

func TestChildThatIsNeverReady(t *testing.T) {
	t.Parallel()
	c := childOf("silent")
	c.ReadyTimeout = 100 * time.Millisecond
	_, err := c.Launch(t.Context(), Setup{})
	require.ErrorContains(t, err, "the server was not ready within 100ms")

	_, err = childOf("without").Launch(t.Context(), Setup{Repository: "r", Model: "m"})
	require.EqualError(t, err, "the server is up, but model \"m\" is not ready; its last output:\n  serving r")

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	_, err = childOf("silent").Launch(ctx, Setup{})
	require.EqualError(t, err, "enough")
}

func TestChildThatDies(t *testing.T) {
	t.Parallel()
	s, err := childOf("good").Launch(t.Context(), Setup{})
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Endpoints().HTTP+"/die", nil)
	require.NoError(t, err)
	_, err = (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	require.Error(t, err)
	<-s.Done()
	require.ErrorContains(t, s.Err(), "the server ended by itself (exit status 3)")
	require.True(t, strings.HasSuffix(s.Err().Error(), "no memory left"), s.Err())
	require.NoError(t, s.Close())
}

// The kernel ends what takes too much memory, and that is not always known yet
// when the failed load makes the analysis close the server.
func TestChildThatIsKilledWhileClosed(t *testing.T) {
	t.Parallel()
	for range 20 {
		s, err := childOf("stubborn").Launch(t.Context(), Setup{})
		require.NoError(t, err)
		require.NoError(t, syscall.Kill(s.PIDs()[0], syscall.SIGKILL))
		err = errors.Join(s.Close(), s.Err())
		require.ErrorContains(t, err, "the server ended by itself (signal: killed)")
	}
}

func TestChildThatDoesNotStop(t *testing.T) {
	t.Parallel()
	c := childOf("stubborn")
	c.StopTimeout = 100 * time.Millisecond
	s, err := c.Launch(t.Context(), Setup{})
	require.NoError(t, err)
	require.EqualError(t, s.Close(), "the server did not end within 100ms and was killed")
	require.False(t, alive(s.PIDs()[0]))
}
