package scaler

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"triton/cmd/cli/process"
	"triton/cmd/cli/scaler/externalscalerpb"
	"triton/server"
	"triton/server/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// replica is the metrics port of a replica: it has a number of requests, or answers nothing.
func replica(t *testing.T, inFlight *atomic.Int64, silent <-chan struct{}) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if silent != nil {
			select {
			case <-silent:
			case <-r.Context().Done():
			}
			return
		}
		_, _ = fmt.Fprintf(w, "triton_inference_in_flight_request_count{model=\"m\",version=\"1\"} %d\n", inFlight.Load())
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// serve runs the command and returns a client of it.
func serve(t *testing.T, o options) externalscalerpb.ExternalScalerClient {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, log := io.Pipe()
	ended := make(chan error, 1)
	o.address, o.interval = "127.0.0.1:0", 100*time.Millisecond
	go func() {
		ended <- o.run(ctx, slog.New(slog.NewTextHandler(log, nil)))
		_ = log.Close()
	}()
	address := make(chan string, 1)
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if m := regexp.MustCompile(`serves" address=(\S+)`).FindStringSubmatch(lines.Text()); m != nil {
				address <- m[1]
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
		<-read
	})
	cc, err := grpc.NewClient(<-address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = cc.Close() })
	h, err := healthpb.NewHealthClient(cc).Check(t.Context(), &healthpb.HealthCheckRequest{})
	require.NoError(t, err)
	require.Equal(t, healthpb.HealthCheckResponse_SERVING, h.GetStatus())
	return externalscalerpb.NewExternalScalerClient(cc)
}

func ref(metadata ...string) *externalscalerpb.ScaledObjectRef {
	m := map[string]string{"scalerAddress": "x:6000", "targetValue": "4"}
	for i := 0; i < len(metadata); i += 2 {
		m[metadata[i]] = metadata[i+1]
	}
	return &externalscalerpb.ScaledObjectRef{Name: "s", Namespace: "n", ScalerMetadata: m}
}

// patient calls again while the scaler says that no replica answers: on a busy machine all of them may
// be slow in one round.
func patient[R any](t *testing.T, call func() (R, error)) R {
	t.Helper()
	for {
		r, err := call()
		if status.Code(err) != codes.Unavailable {
			require.NoError(t, err)
			return r
		}
		require.ErrorContains(t, err, "none of 4 replicas answers")
	}
}

// TestReplicas: a client as KEDA's, over a working, a silent and a dead replica.
func TestReplicas(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	silent := make(chan struct{})
	defer close(silent)
	dead := httptest.NewServer(http.NotFoundHandler())
	dead.Close()
	c := serve(t, options{replicas: []string{replica(t, &n, nil), replica(t, &n, nil), replica(t, nil, silent), dead.URL}, timeout: 200 * time.Millisecond})

	spec, err := c.GetMetricSpec(t.Context(), ref("modelName", "m"))
	require.NoError(t, err)
	require.Equal(t, "triton-in-flight-m", spec.GetMetricSpecs()[0].GetMetricName())
	require.InDelta(t, 4, spec.GetMetricSpecs()[0].GetTargetSizeFloat(), 0)
	require.EqualValues(t, 4, spec.GetMetricSpecs()[0].GetTargetSize())

	stream, err := c.StreamIsActive(t.Context(), ref())
	require.NoError(t, err)
	pushed := func() bool {
		r, err := stream.Recv()
		require.NoError(t, err)
		return r.GetResult()
	}
	require.False(t, pushed(), "the state at once")
	n.Store(3)
	require.True(t, pushed())
	v := patient(t, func() (*externalscalerpb.GetMetricsResponse, error) {
		return c.GetMetrics(t.Context(), &externalscalerpb.GetMetricsRequest{ScaledObjectRef: ref(), MetricName: "any"})
	})
	require.Equal(t, "any", v.GetMetricValues()[0].GetMetricName())
	require.Positive(t, v.GetMetricValues()[0].GetMetricValueFloat())
	a := patient(t, func() (*externalscalerpb.IsActiveResponse, error) {
		return c.IsActive(t.Context(), ref("modelName", "another"))
	})
	require.False(t, a.GetResult())
	n.Store(0)
	require.False(t, pushed())

	_, err = c.IsActive(t.Context(), ref("metric", "speed"))
	require.Equal(t, codes.InvalidArgument, status.Code(err))
}

// TestServer: the metrics of a real server.
func TestServer(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.Model("ident", servertest.Identity("FP32", "2", 8)), servertest.With(func(o *server.Options) { o.Metrics.Allow = true }))
	c := serve(t, options{replicas: []string{s.Metrics}, timeout: time.Minute})
	for _, metric := range []string{"in-flight", "pending", "waiting"} {
		v, err := c.GetMetrics(t.Context(), &externalscalerpb.GetMetricsRequest{ScaledObjectRef: ref("metric", metric)})
		require.NoError(t, err, metric)
		require.Zero(t, v.GetMetricValues()[0].GetMetricValueFloat())
	}
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{"", "--replicas"},
		{"more", `"more" was given`},
		{"--replicas ftp://h", "is not http://"},
		{"--replicas h:1 --interval 1ms", "--interval"},
		{"--replicas h:1 --timeout 0s", "--timeout"},
		{"--replicas h:1 --scaler-cert-file x", "--scaler-key-file"},
		{"--replicas h:1 --scaler-client-ca-file x", "--scaler-cert-file"},
		{"--replica h:1", "did you mean"},
	} {
		var errs bytes.Buffer
		p := process.Process{Stdout: &errs, Stderr: &errs, Signals: func() (<-chan os.Signal, func()) { return nil, func() {} }}
		cmd := NewCommand(p)
		cmd.SetArgs(strings.Fields(c.args))
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		require.Equal(t, process.Usage, p.ExitCode(cmd.ExecuteContext(t.Context())), c.args)
		require.Contains(t, errs.String(), c.want)
	}
}
