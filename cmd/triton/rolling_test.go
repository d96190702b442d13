package main_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"triton/pkg/inferencepb"
	"triton/pkg/sharedtest"
)

const (
	rollingReplicas = 3
	rollingClients  = 16                    // of each protocol
	rollingPause    = 20 * time.Millisecond // of a client between requests
	rollingDelay    = time.Hour             // ended by a second signal, when the proxy has left the replica
)

// TestRollingRestart restarts three replicas behind a proxy with health checks, one after the
// other, by SIGTERM, while clients send requests over HTTP and gRPC. Every request is answered
// with its own data, and every replica ends with exit code 0. The proxy repeats nothing. How long it
// takes to notice depends on the machine, so the drain delay lasts until it has.
func TestRollingRestart(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: starts the binary")
	}
	requests := int64(4000)
	if v := os.Getenv("TRITON_ROLLING"); v != "" {
		n, err := strconv.ParseInt(v, 10, 64)
		require.NoError(t, err)
		requests = n
	}
	for name, proxy := range map[string]func(*testing.T, []*replica) rollingProxy{"haproxy": startHAProxy, "go": startGoProxy} {
		t.Run(name, func(t *testing.T) { roll(t, requests, proxy) })
	}
}

// rollingProxy is a proxy that runs.
type rollingProxy struct {
	http, grpc string // addresses
	// left reports whether a replica has no requests of the proxy and gets none.
	left func(replica int) bool
}

func roll(t *testing.T, requests int64, start func(*testing.T, []*replica) rollingProxy) {
	models := identityModels(t, "m")
	var replicas []*replica
	for range rollingReplicas {
		r := &replica{ports: sharedtest.Ports(t, 3), models: models}
		r.start(t)
		replicas = append(replicas, r)
	}
	proxy := start(t, replicas)
	l := newRollingLoad(t, proxy.http, proxy.grpc)
	began := time.Now()
	stop := l.start()
	defer stop()
	var turns []time.Duration
	for i, r := range replicas {
		turn := time.Now()
		r.drain(t, func() bool { return proxy.left(i) || l.lost.Load() > 0 })
		r.start(t)
		r.waitServing(t, l)
		turns = append(turns, time.Since(turn).Round(time.Millisecond))
	}
	require.Eventually(t, func() bool { return l.sent.Load() >= requests || l.lost.Load() > 0 }, 20*time.Minute, 10*time.Millisecond)
	stop()
	t.Logf("%d requests over HTTP and %d over gRPC in %v, %d lost; %d restarts took %v", l.http.Load(), l.grpc.Load(),
		time.Since(began).Round(time.Millisecond), l.lost.Load(), len(turns), turns)
	require.Zero(t, l.lost.Load(), "first loss: %v", l.first.Load())
	require.Equal(t, l.sent.Load(), l.http.Load()+l.grpc.Load())
	for i, r := range replicas {
		r.drain(t, func() bool { return proxy.left(i) })
	}
}

// replica is a server that starts again on the same ports.
type replica struct {
	ports  []int
	models string
	*server
}

func (r *replica) start(t *testing.T) {
	t.Helper()
	r.server = startAt(t, exec.Command(tritonBinary(t), "serve", "--model-repository", r.models, "--drain-delay", rollingDelay.String(),
		"--readiness=strict"), r.ports)
}

// drain ends the replica. The delay ends when the proxy has left it.
func (r *replica) drain(t *testing.T, left func() bool) {
	t.Helper()
	require.NoError(t, r.cmd.Process.Signal(syscall.SIGTERM))
	r.requireLogged(t, "not ready any more")
	window := time.After(1500 * time.Millisecond) // signals within a second after the first count as one
	require.Eventually(t, left, 2*time.Minute, 10*time.Millisecond, "the proxy does not leave the replica")
	<-window
	r.stop(t)
}

var succeeded = regexp.MustCompile(`nv_inference_request_success\{model="m",version="1"\} (\d+)`)

// waitServing waits until the proxy sends requests to the replica again.
func (r *replica) waitServing(t *testing.T, l *rollingLoad) {
	t.Helper()
	require.Eventually(t, func() bool {
		if l.lost.Load() > 0 {
			return true
		}
		resp, err := http.Get("http://" + r.metrics + "/metrics")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		found := succeeded.FindSubmatch(text)
		if found == nil {
			return false
		}
		n, _ := strconv.Atoi(string(found[1]))
		return n > 50
	}, time.Minute, 20*time.Millisecond)
}

// rollingLoad sends requests over both protocols, each with data of its own.
type rollingLoad struct {
	overHTTP string
	client   *http.Client
	service  inferencepb.GRPCInferenceServiceClient

	sent, http, grpc, lost atomic.Int64
	first                  atomic.Pointer[error]
}

func newRollingLoad(t *testing.T, overHTTP, overGRPC string) *rollingLoad {
	conn, err := grpc.NewClient(overGRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	l := &rollingLoad{
		overHTTP: overHTTP, service: inferencepb.NewGRPCInferenceServiceClient(conn),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: rollingClients}, Timeout: time.Minute},
	}
	t.Cleanup(l.client.CloseIdleConnections)
	return l
}

// start starts the clients; stop ends them after their current request.
func (l *rollingLoad) start() (stop func()) {
	done := make(chan struct{})
	var clients sync.WaitGroup
	for range rollingClients {
		for _, c := range []struct {
			ask      func(int64) error
			answered *atomic.Int64
		}{{l.askHTTP, &l.http}, {l.askGRPC, &l.grpc}} {
			clients.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
					}
					if err := c.ask(l.sent.Add(1)); err != nil {
						l.first.CompareAndSwap(nil, &err)
						l.lost.Add(1)
					} else {
						c.answered.Add(1)
					}
					time.Sleep(rollingPause)
				}
			})
		}
	}
	return sync.OnceFunc(func() {
		close(done)
		clients.Wait()
	})
}

func (l *rollingLoad) askHTTP(id int64) error {
	body := fmt.Sprintf(`{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,2],"data":[%d,7]}]}`, id)
	resp, err := l.client.Post("http://"+l.overHTTP+"/v2/models/m/infer", "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || !bytes.Contains(text, fmt.Appendf(nil, `"data":[%d,7]`, id)) {
		return fmt.Errorf("HTTP status %d, %s: %w", resp.StatusCode, text, err)
	}
	return nil
}

func (l *rollingLoad) askGRPC(id int64) error {
	data := binary.LittleEndian.AppendUint64(nil, uint64(id))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	resp, err := l.service.ModelInfer(ctx, &inferencepb.ModelInferRequest{
		ModelName:        "m",
		Inputs:           []*inferencepb.ModelInferRequest_InferInputTensor{{Name: "INPUT0", Datatype: "INT32", Shape: []int64{1, 2}}},
		RawInputContents: [][]byte{data},
	})
	if err != nil {
		return fmt.Errorf("gRPC: %w", err)
	}
	if out := resp.GetRawOutputContents(); len(out) != 1 || !bytes.Equal(out[0], data) {
		return fmt.Errorf("gRPC: request %d was answered with %v", id, out)
	}
	return nil
}

// startHAProxy starts HAProxy from PATH or build/tools.
func startHAProxy(t *testing.T, replicas []*replica) rollingProxy {
	program, err := exec.LookPath("haproxy")
	if err != nil {
		program = root(t, "build", "tools", "haproxy")
		if _, err := os.Stat(program); err != nil {
			t.Skip("no haproxy on PATH or in build/tools: make haproxy gets it")
		}
	}
	p := sharedtest.Ports(t, 3)
	var c strings.Builder
	// Nothing is repeated, so that a request that a replica loses is seen.
	fmt.Fprintf(&c, `global
  maxconn 1000
defaults
  mode http
  retries 0
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  option httpchk GET /v2/health/ready
  default-server inter 200ms fall 2 rise 1
frontend http
  bind 127.0.0.1:%d
  default_backend http
frontend grpc
  bind 127.0.0.1:%d proto h2
  default_backend grpc
frontend stats
  bind 127.0.0.1:%d
  stats enable
  stats uri /
backend http
`, p[0], p[1], p[2])
	for i, r := range replicas {
		fmt.Fprintf(&c, "  server s%d %s check\n", i, r.http)
	}
	c.WriteString("backend grpc\n")
	for i, r := range replicas {
		fmt.Fprintf(&c, "  server s%d %s proto h2 check check-proto h1 port %d\n", i, r.grpc, r.ports[0])
	}
	file := filepath.Join(t.TempDir(), "haproxy.cfg")
	require.NoError(t, os.WriteFile(file, []byte(c.String()), 0o600))
	cmd := exec.Command(program, "-db", "-f", file)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("haproxy:\n%s", out.String())
		}
	})
	at := func(i int) string { return "127.0.0.1:" + strconv.Itoa(p[i]) }
	waitProxy(t, at(0))
	return rollingProxy{http: at(0), grpc: at(1), left: func(i int) bool { return leftByHAProxy(at(2), "s"+strconv.Itoa(i)) }}
}

// leftByHAProxy reads from HAProxy's statistics whether a server is down and without requests, in both backends.
func leftByHAProxy(stats, server string) bool {
	const nameColumn, requestsColumn, statusColumn = 1, 4, 17
	resp, err := http.Get("http://" + stats + "/;csv")
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	left := 0
	for line := range strings.Lines(string(text)) {
		columns := strings.Split(line, ",")
		if len(columns) > statusColumn && columns[nameColumn] == server && columns[requestsColumn] == "0" && columns[statusColumn] == "DOWN" {
			left++
		}
	}
	return left == 2
}

// waitProxy waits until requests through the proxy are answered.
func waitProxy(t *testing.T, addr string) {
	t.Helper()
	require.Eventually(t, func() bool {
		resp, err := http.Get("http://" + addr + "/v2/health/ready")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}, time.Minute, 20*time.Millisecond)
}
