package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"triton/pkg/inferencepb"
	"triton/server"
	"triton/server/backend/onnx"
	"triton/server/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const body = `{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,4],"data":[1,2,3,4]}]}`

// slow is an identity model whose batches of one wait for a while in the
// batcher.
var slow = servertest.Identity("INT32", "4", 8) +
	"dynamic_batching { preferred_batch_size: [ 8 ] max_queue_delay_microseconds: 60000 }\n"

func newClient(t *testing.T) *http.Client {
	tr := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func get(t *testing.T, c *http.Client, url string) (int, string) {
	t.Helper()
	resp, err := c.Get(url)
	require.NoError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(b)
}

func post(c *http.Client, url, body string) (int, string, error) {
	resp, err := c.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

func dial(t *testing.T, addr string) inferencepb.GRPCInferenceServiceClient {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return inferencepb.NewGRPCInferenceServiceClient(conn)
}

func TestServes(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.Model("m", servertest.Identity("INT32", "4", 8)))
	c := newClient(t)
	code, _ := get(t, c, "http://"+s.HTTP+"/v2/health/ready")
	require.Equal(t, http.StatusOK, code)
	code, text, err := post(c, "http://"+s.HTTP+"/v2/models/m/infer", body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code, text)
	require.Contains(t, text, `"outputs":[{"name":"OUTPUT0","datatype":"INT32","shape":[1,4],"data":[1,2,3,4]}]`)

	g := dial(t, s.GRPC)
	meta, err := g.ServerMetadata(t.Context(), &inferencepb.ServerMetadataRequest{})
	require.NoError(t, err)
	require.Equal(t, "triton", meta.Name)
	resp, err := g.ModelInfer(t.Context(), &inferencepb.ModelInferRequest{
		ModelName:        "m",
		Inputs:           []*inferencepb.ModelInferRequest_InferInputTensor{{Name: "INPUT0", Datatype: "INT32", Shape: []int64{1, 4}}},
		RawInputContents: [][]byte{bytes.Repeat([]byte{7, 0, 0, 0}, 4)},
	})
	require.NoError(t, err)
	require.Equal(t, bytes.Repeat([]byte{7, 0, 0, 0}, 4), resp.RawOutputContents[0])

	code, text = get(t, c, "http://"+s.HTTP+"/v2/models/m/stats")
	require.Equal(t, http.StatusOK, code)
	var stats struct {
		Models []struct {
			Count int `json:"inference_count"`
		} `json:"model_stats"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &stats))
	require.Equal(t, 2, stats.Models[0].Count)
}

// TestDrainLosesNothing interrupts a server under load over both frontends.
// Every request that the server took in is answered in full.
func TestDrainLosesNothing(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.Model("m", slow))
	c, g := newClient(t), dial(t, s.GRPC)
	url := "http://" + s.HTTP + "/v2/models/m/infer"
	// Each client sends one request, all at the same time: after the first few hundred
	// milliseconds the server has accepted all connections.
	const n = 20
	var clients sync.WaitGroup
	errs := make(chan error, 2*n)
	for range n {
		clients.Go(func() {
			code, text, err := post(c, url, body)
			if err == nil && code != http.StatusOK {
				err = errors.New(text)
			}
			errs <- err
		})
		clients.Go(func() {
			_, err := g.ModelInfer(context.Background(), &inferencepb.ModelInferRequest{
				ModelName:        "m",
				Inputs:           []*inferencepb.ModelInferRequest_InferInputTensor{{Name: "INPUT0", Datatype: "INT32", Shape: []int64{1, 4}}},
				RawInputContents: [][]byte{make([]byte, 16)},
			})
			errs <- err
		})
	}
	require.Eventually(t, func() bool { return taken(t, s) == 2*n }, time.Minute, time.Millisecond)
	s.Interrupt()
	clients.Wait()
	for range 2 * n {
		require.NoError(t, <-errs, "an accepted request was lost")
	}
	require.NoError(t, s.Wait())
	_, err := net.DialTimeout("tcp", s.HTTP, time.Second)
	require.Error(t, err, "the port is closed")
	_, err = net.DialTimeout("tcp", s.GRPC, time.Second)
	require.Error(t, err)
}

// taken returns how many requests the model has or had.
func taken(t *testing.T, s *servertest.Server) int {
	t.Helper()
	c := newClient(t)
	_, text := get(t, c, "http://"+s.Metrics+"/metrics")
	total := 0
	for line := range strings.Lines(text) {
		var n int
		for _, name := range []string{"nv_inference_request_success", "nv_inference_pending_request_count"} {
			if _, err := fmt.Sscanf(line, name+`{model="m",version="1"} %d`, &n); err == nil {
				total += n
			}
		}
	}
	return total
}

// TestDrainClosesIdleConnections: a connection that only stays open does not
// hold the end up.
func TestDrainClosesIdleConnections(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.Model("m", servertest.Identity("INT32", "4", 8)),
		servertest.With(func(o *server.Options) { o.ExitTimeout = time.Hour }))
	c := newClient(t)
	_, _ = get(t, c, "http://"+s.HTTP+"/v2/health/live")
	_, err := dial(t, s.GRPC).ServerLive(t.Context(), &inferencepb.ServerLiveRequest{})
	require.NoError(t, err)
	s.Stop(t)
	require.NoError(t, s.Wait())
}

// half starts a request and never ends it; the server waits for it.
func half(t *testing.T, s *servertest.Server) {
	t.Helper()
	conn, err := net.Dial("tcp", s.HTTP)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = fmt.Fprintf(conn, "POST /v2/models/m/infer HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n")
	require.NoError(t, err)
	// The server reads the body only when it has begun to handle the request.
	reply := make([]byte, 12)
	_, err = io.ReadFull(conn, reply)
	require.NoError(t, err)
	require.Equal(t, "HTTP/1.1 100", string(reply))
}

func TestKill(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.Model("m", servertest.Identity("INT32", "4", 8)))
	half(t, s)
	s.Interrupt()
	s.Kill()
	require.ErrorIs(t, s.Wait(), server.ErrKilled)
}

func TestExitTimeout(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.Model("m", servertest.Identity("INT32", "4", 8)),
		servertest.With(func(o *server.Options) { o.ExitTimeout = 50 * time.Millisecond }))
	half(t, s)
	s.Interrupt()
	err := s.Wait()
	require.ErrorIs(t, err, server.ErrExitTimeout)
	require.EqualError(t, err, "failed to stop server: Internal - Exit timeout expired. Exiting immediately.")
}

func TestHealthWhileDraining(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.Model("m", servertest.Identity("INT32", "4", 8)))
	half(t, s)
	c := newClient(t)
	s.Interrupt()
	require.Eventually(t, s.Service().Exiting, time.Minute, time.Millisecond)
	require.False(t, s.Service().Ready())
	code, _ := get(t, c, "http://"+s.Metrics+"/metrics")
	require.Equal(t, http.StatusOK, code, "metrics stay to the end")
	s.Kill()
	_ = s.Wait()
}

func TestBadModelEndsTheStart(t *testing.T) {
	t.Parallel()
	good := servertest.Model("m", servertest.Identity("INT32", "4", 8))
	bad := servertest.Model("bad", strings.Replace(servertest.Identity("INT32", "4", 8), "identity", "nosuch", 1))
	_, err := servertest.Try(t, good, bad)
	require.EqualError(t, err, "creating server: Internal - failed to load all models")

	s := servertest.Start(t, good, bad, servertest.With(func(o *server.Options) { o.ExitOnError = false }))
	code, _ := get(t, newClient(t), "http://"+s.HTTP+"/v2/health/ready")
	require.Equal(t, http.StatusBadRequest, code)
	code, _, err = post(newClient(t), "http://"+s.HTTP+"/v2/models/m/infer", body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code)

	s = servertest.Start(t, good, bad, servertest.With(func(o *server.Options) { o.ExitOnError, o.StrictReadiness = false, false }))
	code, _ = get(t, newClient(t), "http://"+s.HTTP+"/v2/health/ready")
	require.Equal(t, http.StatusOK, code)
}

func TestPortInUse(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	inUse := servertest.With(func(o *server.Options) { o.HTTP.Port = l.Addr().(*net.TCPAddr).Port })
	_, err = servertest.Try(t, inUse)
	require.EqualError(t, err, fmt.Sprintf("failed to start HTTP service: Unavailable - Socket '%s' already in use ", l.Addr()))
	if runtime.GOOS == "linux" { // before the models load
		_, err = servertest.Try(t, inUse, servertest.Model("m", `backend: "none"`))
		require.EqualError(t, err, fmt.Sprintf("failed to start HTTP service: Unavailable - Socket '%s' already in use ", l.Addr()))
	}
}

func TestSharedPort(t *testing.T) {
	t.Parallel()
	share := servertest.With(func(o *server.Options) { o.HTTP.Reuse = true })
	a := servertest.Start(t, share)
	_, port, err := net.SplitHostPort(a.HTTP)
	require.NoError(t, err)
	b := servertest.Start(t, share, servertest.With(func(o *server.Options) { _, _ = fmt.Sscan(port, &o.HTTP.Port) }))
	require.Equal(t, a.HTTP, b.HTTP)
}

func TestServicesMayBeOff(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.With(func(o *server.Options) { o.GRPC.Allow, o.Metrics.Allow = false, false }))
	require.NotEmpty(t, s.HTTP)
	require.Empty(t, s.GRPC+s.Metrics)
}

func TestAnyAddress(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.With(func(o *server.Options) { o.HTTP.Address = "0.0.0.0" }))
	require.Regexp(t, `^0\.0\.0\.0:\d+$`, s.HTTP)
	s = servertest.Start(t, servertest.With(func(o *server.Options) { o.HTTP.Address = "localhost" }))
	require.NotEmpty(t, s.HTTP)
}

func TestOptionsValidate(t *testing.T) {
	t.Parallel()
	o := server.Default()
	require.NoError(t, o.Validate())
	o.GRPC.Port, o.LoadThreads, o.ExitTimeout, o.Metrics.Port = 8000, 0, -1, 70000
	require.EqualError(t, o.Validate(), "model load thread count is 0, must be at least 1\n"+
		"exit timeout is -1ns, must not be negative\n"+
		"metrics port is 70000, must be from 0 to 65535\n"+
		"The server cannot listen to HTTP requests and GRPC requests at the same address and port 0.0.0.0:8000")
}

// TestLoad keeps clients asking while a server ends: each sees whole answers
// until the port closes.
func TestLoad(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.Model("m", servertest.Identity("INT32", "4", 8)))
	var served, broken atomic.Int64
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			for {
				code, text, err := post(c, "http://"+s.HTTP+"/v2/models/m/infer", body)
				if err != nil {
					return
				}
				if code != http.StatusOK {
					t.Log(text)
					broken.Add(1)
				}
				served.Add(1)
			}
		})
	}
	require.Eventually(t, func() bool { return served.Load() > 100 }, time.Minute, time.Millisecond)
	s.Interrupt()
	clients.Wait()
	require.NoError(t, s.Wait())
	require.Zero(t, broken.Load())
}

// TestEndWhileLoading: a shutdown while models load succeeds and releases all of them.
func TestEndWhileLoading(t *testing.T) {
	t.Parallel()
	slow := servertest.Identity("INT32", "4", 8) + `parameters { key: "creation_delay_sec" value { string_value: "600" } }` + "\n"
	dir := t.TempDir()
	for name, config := range map[string]string{"slow": slow, "quick": servertest.Identity("INT32", "4", 8)} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name, "1"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name, "config.pbtxt"), []byte(config), 0o644))
	}
	o := server.Default()
	o.Repositories, o.Backends = []string{dir}, server.NewBackends(onnx.Search{})
	s, err := server.New(o)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, s.Run(ctx))
	_, err = s.Service().Model("quick", "")
	require.Error(t, err)
}
