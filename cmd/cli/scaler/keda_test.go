package scaler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/cmd/cli/scaler/externalscalerpb"
	"triton/pkg/scrape"
)

func readPage(t *testing.T, at time.Time, page string) *reading {
	t.Helper()
	p, err := scrape.Parse(strings.NewReader(page))
	require.NoError(t, err)
	return newReading(p, at)
}

func pageOf(model string, pending, inFlight, success, micros int) string {
	l := fmt.Sprintf("{model=%q,version=\"1\"}", model)
	return fmt.Sprintf("nv_inference_pending_request_count%s %d\ntriton_inference_in_flight_request_count%s %d\nnv_inference_request_success%s %d\nnv_inference_queue_duration_us%s %d\n",
		l, pending, l, inFlight, l, success, l, micros)
}

// TestValues: each metric over replicas of which some do not answer or were not there before.
func TestValues(t *testing.T) {
	t.Parallel()
	start := time.Now()
	later := start.Add(10 * time.Second)
	silent := errors.New("silent")
	two := &round{replicas: map[string]*replicaState{
		"a": {before: readPage(t, start, pageOf("m", 0, 0, 100, 5000)), now: readPage(t, later, pageOf("m", 2, 4, 150, 105000)+pageOf("n", 1, 1, 0, 0))},
		"b": {before: readPage(t, start, pageOf("m", 0, 0, 100, 5000)), now: readPage(t, later, pageOf("m", 4, 8, 30, 60000))}, // started again
	}}
	some := &round{replicas: map[string]*replicaState{"a": two.replicas["a"], "b": two.replicas["b"], "c": {err: silent}, "d": {err: silent}}}
	fresh := &round{replicas: map[string]*replicaState{"a": {now: two.replicas["a"].now}}}
	nvidia := &round{replicas: map[string]*replicaState{"a": {now: readPage(t, later, "nv_inference_request_success{model=\"m\",version=\"1\"} 3\nnv_inference_pending_request_count{model=\"m\",version=\"1\"} 3\n")}}}
	none := &round{}
	dead := &round{replicas: map[string]*replicaState{"a": {err: silent}}}
	lost := &round{failed: errors.New("no name server")}
	for _, c := range []struct {
		metric, model string
		of            *round
		value         float64
		active        bool
		err           string
	}{
		{"pending", "", two, 7, true, ""},
		{"pending", "m", two, 6, true, ""},
		{"in-flight", "m", two, 12, true, ""},
		{"in-flight", "absent", two, 0, false, ""},
		{"in-flight", "m", some, 24, true, ""},
		{"requests", "m", two, 5 + 3, true, ""},
		{"requests", "m", some, 16, true, ""},
		{"queue-delay", "m", two, 2, true, ""}, // 160 ms for 80 requests
		{"requests", "m", fresh, 0, true, "two readings"},
		{"queue-delay", "absent", fresh, 0, false, "two readings"},
		{"in-flight", "m", nvidia, 0, true, "use the metric pending"},
		{"pending", "m", nvidia, 3, true, ""},
		{"waiting", "", two, 0, true, ""}, // requests run
		{"pending", "", none, 0, false, ""},
		{"requests", "", none, 0, false, ""},
		{"queue-delay", "", none, 0, false, ""},
		{"pending", "", dead, 0, false, "none of 1 replicas answers, such as a: silent"},
		{"pending", "", lost, 0, false, "no name server"},
	} {
		tr, err := parse(map[string]string{"metric": c.metric, "modelName": c.model, "targetValue": "1"})
		require.NoError(t, err)
		v, err := tr.value(c.of)
		if c.err != "" {
			require.ErrorContains(t, err, c.err, "%+v", c)
		} else {
			require.NoError(t, err)
			require.InDelta(t, c.value, v, 1e-9, "%+v", c)
		}
		active, err := tr.active(c.of)
		require.Equal(t, c.of.err() == nil, err == nil, "%+v", c)
		require.Equal(t, c.active, active, "%+v", c)
	}
	tr, err := parse(map[string]string{"metric": "pending", "activationTargetValue": "7", "targetValue": "1"})
	require.NoError(t, err)
	active, err := tr.active(two)
	require.NoError(t, err)
	require.False(t, active, "not above the activation value")
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ metadata, want string }{
		{"metric=speed targetValue=1", `"speed" is unknown, use one of in-flight, pending, queue-delay, requests, waiting`},
		{"metric=pending", "targetValue is missing"},
		{"targetValue=0", "targetValue"},
		{"targetValue=NaN", "targetValue"},
		{"targetValue=much", "targetValue"},
		{"targetValue=1 activationTargetValue=-1", "activationTargetValue"},
		{"targetValue=1 modelVersion=1", "modelName"},
		{"targetValue=1 metric=waiting modelName=m", "of all models"},
	} {
		m := map[string]string{}
		for _, pair := range strings.Fields(c.metadata) {
			k, v, _ := strings.Cut(pair, "=")
			m[k] = v
		}
		_, err := parse(m)
		require.ErrorContains(t, err, c.want, c.metadata)
	}
	tr, err := parse(map[string]string{"targetValue": "0.5", "modelName": "Team/Chat_v2", "modelVersion": "3"})
	require.NoError(t, err)
	require.Equal(t, "triton-in-flight-team-chat-v2-3", tr.name())
}

type names map[string][]string

func (n names) LookupHost(_ context.Context, host string) ([]string, error) {
	switch all, ok := n[host]; {
	case host == "broken":
		return nil, &net.DNSError{Err: "no name server", Name: host, IsTemporary: true}
	case !ok:
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	default:
		return all, nil
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	n := names{"pods": {"10.0.0.2", "10.0.0.1", "fd00::1"}}
	all, err := resolve(t.Context(), n, []string{"pods:8002", "https://pods/m", "10.0.0.1:8002", "scaled-to-zero:8002"})
	require.NoError(t, err)
	require.Equal(t, []string{
		"http://10.0.0.1:8002/metrics", "http://10.0.0.2:8002/metrics", "http://[fd00::1]:8002/metrics",
		"https://10.0.0.1/m", "https://10.0.0.2/m", "https://[fd00::1]/m",
	}, all)
	_, err = resolve(t.Context(), n, []string{"broken:8002"})
	require.ErrorContains(t, err, "look up broken: ")
}

// TestRun: calls wait for the first round, and a round that hangs ends with its timeout.
func TestRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		s := newScaler(reader{
			Replicas: func(context.Context) ([]string, error) { return []string{"a", "b", "a"}, nil },
			Read: func(ctx context.Context, address string) (*reading, error) {
				if address == "b" {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				n++
				return readPage(t, time.Now(), pageOf("m", n, n, 10*n, 0)), nil
			},
			Interval: 5 * time.Second, Timeout: 3 * time.Second, Log: slog.New(slog.DiscardHandler),
		})
		done := make(chan struct{})
		go func() { s.Run(ctx); close(done) }()
		value := func(metric string) float64 {
			r, err := s.GetMetrics(ctx, &externalscalerpb.GetMetricsRequest{ScaledObjectRef: &externalscalerpb.ScaledObjectRef{
				ScalerMetadata: map[string]string{"metric": metric, "targetValue": "1"},
			}})
			require.NoError(t, err)
			return r.GetMetricValues()[0].GetMetricValueFloat()
		}
		require.InDelta(t, 2, value("pending"), 0, "twice that of the replica that answers")
		time.Sleep(8 * time.Second)
		synctest.Wait()
		require.InDelta(t, 4, value("pending"), 0)
		require.InDelta(t, 2*10/8.0, value("requests"), 1e-9)
		cancel()
		<-done
	})
}

// FuzzParse: metadata comes from anybody who may write a ScaledObject.
func FuzzParse(f *testing.F) {
	f.Add("pending", "m", "1", "0")
	f.Fuzz(func(t *testing.T, metric, model, target, activation string) {
		tr, err := parse(map[string]string{"metric": metric, "modelName": model, "targetValue": target, "activationTargetValue": activation})
		if err != nil {
			return
		}
		if strings.Trim(tr.name(), "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			t.Fatal(tr.name())
		}
		_, _ = tr.active(&round{})
	})
}
