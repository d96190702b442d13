package trace

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"triton/pkg/freeport"
)

// received are the names of spans by resource attribute, as a receiver of OTLP
// got them.
type received chan *collector.ExportTraceServiceRequest

func (r received) next(t *testing.T) (spans []string, resource map[string]string) {
	t.Helper()
	select {
	case m := <-r:
		resource = map[string]string{}
		for _, rs := range m.GetResourceSpans() {
			for _, a := range rs.GetResource().GetAttributes() {
				resource[a.GetKey()] = a.GetValue().GetStringValue()
			}
			for _, ss := range rs.GetScopeSpans() {
				for _, s := range ss.GetSpans() {
					spans = append(spans, s.GetName())
				}
			}
		}
	case <-t.Context().Done():
		require.Fail(t, "nothing was exported")
	}
	return spans, resource
}

// httpReceiver is an OTLP/HTTP receiver; it answers at path alone.
func httpReceiver(t *testing.T, path string) (received, string) {
	t.Helper()
	got := make(received, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		var m collector.ExportTraceServiceRequest
		if proto.Unmarshal(body, &m) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
		got <- &m
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return got, s.Listener.Addr().String()
}

// grpcReceiver is an OTLP/gRPC receiver.
type grpcReceiver struct {
	collector.UnimplementedTraceServiceServer
	got received
}

func (g *grpcReceiver) Export(_ context.Context, m *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	g.got <- m
	return &collector.ExportTraceServiceResponse{}, nil
}

func newGRPCReceiver(t *testing.T) (received, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test's own
	require.NoError(t, err)
	g := &grpcReceiver{got: make(received, 1)}
	s := grpc.NewServer()
	collector.RegisterTraceServiceServer(s, g)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return g.got, l.Addr().String()
}

func TestExport(t *testing.T) {
	t.Parallel()
	overHTTP, web := httpReceiver(t, "/v1/traces")
	elsewhere, other := httpReceiver(t, "/some/where")
	overGRPC, rpc := newGRPCReceiver(t)
	for _, c := range []struct {
		url string
		got received
	}{
		{"http://" + web + "/v1/traces", overHTTP},
		{"http://" + web, overHTTP},
		{web + "/v1/traces", overHTTP},
		{"http://" + other + "/some/where", elsewhere},
		{"grpc://" + rpc, overGRPC},
	} {
		config, err := ParseConfig([]string{
			"mode=opentelemetry", "level=TIMESTAMPS", "rate=1", "opentelemetry,url=" + c.url, "opentelemetry,resource=zone=a=b",
		})
		require.NoError(t, err)
		env := map[string]string{"OTEL_RESOURCE_ATTRIBUTES": "zone=z, site=two%20words,broken", "OTEL_SERVICE_NAME": "mine"}
		tr, err := New(Options{Config: config, Env: func(name string) string { return env[name] }})
		require.NoError(t, err)
		require.True(t, serve(tr, "m"))
		require.NoError(t, tr.Shutdown(context.Background()))
		spans, resource := c.got.next(t)
		require.ElementsMatch(t, []string{"InferRequest", "m", "compute", "batch"}, spans, c.url)
		require.Equal(t, "go", resource["telemetry.sdk.language"])
		for k := range resource {
			if strings.HasPrefix(k, "telemetry.") {
				delete(resource, k)
			}
		}
		require.Equal(t, map[string]string{"service.name": "mine", "zone": "a=b", "site": "two words"}, resource)
	}
}

func TestBadURL(t *testing.T) {
	t.Parallel()
	for _, u := range []string{"ftp://x", "http://[::1"} {
		_, err := New(Options{Config: map[string][]Setting{Global: {{"mode", "opentelemetry"}}, OpenTelemetry: {{"url", u}}}})
		require.ErrorContains(t, err, "OpenTelemetry exporter: ", u)
	}
}

// Without a receiver the spans are lost, which is logged.
func TestNoReceiver(t *testing.T) {
	t.Parallel()
	nobody, err := freeport.Reserve(1)
	require.NoError(t, err)
	defer nobody.Release()
	var logged bytes.Buffer
	tr, err := New(Options{Log: slog.New(slog.NewTextHandler(&logged, nil)), Config: map[string][]Setting{
		Global:        {{"mode", "opentelemetry"}, {"level", "TIMESTAMPS"}, {"rate", "1"}},
		OpenTelemetry: {{"url", "http://127.0.0.1:" + strconv.Itoa(nobody.Ports()[0])}},
	}})
	require.NoError(t, err)
	require.True(t, serve(tr, "m"))
	require.NoError(t, tr.Shutdown(context.Background()))
	require.Contains(t, logged.String(), "spans could not be exported")
}
