package grpcapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"

	"triton/pkg/inferencepb"
	"triton/pkg/sharedtest"
	"triton/server/frontend"
	"triton/server/grpcapi"
	"triton/server/trace"
)

func withMetadata(ctx context.Context, kv ...string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, kv...)
}

// streamOf returns the error that a stream ends with.
func streamOf(ctx context.Context, c inferencepb.GRPCInferenceServiceClient) error {
	stream, err := c.ModelStreamInfer(ctx)
	if err == nil {
		_ = stream.CloseSend()
		_, err = stream.Recv()
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func TestRestricted(t *testing.T) {
	t.Parallel()
	rules, err := frontend.ParseRestrictions(frontend.RestrictedProtocol, []string{"health,inference:key=secret", "statistics:other=x"})
	require.NoError(t, err)
	s := newStub()
	conn := serve(t, s, s, func(o *grpcapi.Options) { o.Restricted = rules })
	c := inferencepb.NewGRPCInferenceServiceClient(conn)
	calls := map[string]func(context.Context) error{
		"live": func(ctx context.Context) error {
			_, err := c.ServerLive(ctx, &inferencepb.ServerLiveRequest{})
			return err
		},
		"check": func(ctx context.Context) error {
			_, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
			return err
		},
		"watch": func(ctx context.Context) error {
			w, err := grpc_health_v1.NewHealthClient(conn).Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
			require.NoError(t, err)
			_, err = w.Recv()
			return err
		},
		"infer": func(ctx context.Context) error {
			_, err := c.ModelInfer(ctx, echoRequest(nil))
			return err
		},
		"stream": func(ctx context.Context) error { return streamOf(ctx, c) },
	}
	for name, call := range calls {
		for _, kv := range [][]string{{}, {"triton-grpc-protocol-key", "wrong"}, {"key", "secret"}, {"triton-grpc-protocol-other", "x"}} {
			err := call(withMetadata(t.Context(), kv...))
			require.Equal(t, codes.Unavailable, grpcstatus.Code(err), name)
			require.Equal(t, "This protocol is restricted, expecting header 'triton-grpc-protocol-key'",
				grpcstatus.Convert(err).Message(), name)
		}
		ctx, cancel := context.WithCancel(withMetadata(t.Context(), "triton-grpc-protocol-key", "secret"))
		require.NoError(t, call(ctx), name)
		cancel()
	}
	_, err = c.ServerMetadata(t.Context(), &inferencepb.ServerMetadataRequest{})
	require.NoError(t, err)
	_, err = c.ModelStatistics(t.Context(), &inferencepb.ModelStatisticsRequest{Name: "echo"})
	require.Equal(t, "This protocol is restricted, expecting header 'triton-grpc-protocol-other'", grpcstatus.Convert(err).Message())
}

// TestAccessLog has one record for each call and each stream.
func TestAccessLog(t *testing.T) {
	t.Parallel()
	var b sharedtest.LogBuffer
	s := newStub()
	conn := serve(t, s, s, func(o *grpcapi.Options) { o.AccessLog = slog.New(slog.NewJSONHandler(&b, nil)) })
	c := inferencepb.NewGRPCInferenceServiceClient(conn)
	_, err := c.ModelInfer(t.Context(), echoRequest(nil))
	require.NoError(t, err)
	_, err = c.ModelReady(t.Context(), &inferencepb.ModelReadyRequest{Name: "echo"})
	require.NoError(t, err)
	_, err = c.ModelMetadata(t.Context(), &inferencepb.ModelMetadataRequest{Name: "nope"})
	require.Error(t, err)
	stream := openStream(t, t.Context(), conn)
	for range 2 {
		require.NoError(t, stream.Send(echoRequest(nil)))
	}
	require.NoError(t, stream.CloseSend())
	transcript(stream)
	want := []map[string]any{
		{"method": "/inference.GRPCInferenceService/ModelInfer", "code": "OK", "model": "echo", "id": "42"},
		{"method": "/inference.GRPCInferenceService/ModelReady", "code": "OK", "model": "echo"},
		{"method": "/inference.GRPCInferenceService/ModelMetadata", "code": "NotFound", "model": "nope"},
		{"method": "/inference.GRPCInferenceService/ModelStreamInfer", "code": "OK", "model": "echo", "id": "42", "requests": 2.0},
	}
	require.Eventually(t, func() bool { return strings.Count(b.String(), "\n") == len(want) }, time.Minute, time.Millisecond)
	for i, line := range strings.Split(strings.TrimSpace(b.String()), "\n") {
		var got map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &got))
		require.Equal(t, "gRPC call", got["msg"])
		require.Positive(t, got["duration"])
		require.NotEmpty(t, got["peer"])
		for _, k := range []string{"msg", "level", "time", "duration", "peer"} {
			delete(got, k)
		}
		require.Equal(t, want[i], got)
	}
}

// TestTraced finds the frontend's moments in Triton's trace file.
func TestTraced(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "trace.json")
	tracer, err := trace.New(trace.Options{Log: slog.New(slog.DiscardHandler), Config: map[string][]trace.Setting{
		"":       {{Name: "mode", Value: "triton"}, {Name: "level", Value: "TIMESTAMPS"}, {Name: "rate", Value: "1"}},
		"triton": {{Name: "file", Value: file}},
	}})
	require.NoError(t, err)
	s := newStub()
	conn := serve(t, s, s, func(o *grpcapi.Options) { o.Tracer = tracer })
	_, err = inferencepb.NewGRPCInferenceServiceClient(conn).ModelInfer(t.Context(), echoRequest(nil))
	require.NoError(t, err)
	stream := openStream(t, t.Context(), conn)
	require.NoError(t, stream.Send(echoRequest(nil)))
	require.NoError(t, stream.CloseSend())
	transcript(stream)
	conn.Close()
	require.NoError(t, tracer.Shutdown(context.Background()))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, name := range []string{"GRPC_WAITREAD_START", "GRPC_WAITREAD_END", "INFER_RESPONSE_COMPLETE", "GRPC_SEND_START", "GRPC_SEND_END"} {
		require.Equal(t, 2, strings.Count(string(text), `"`+name+`"`), "%s in %s", name, text)
	}
}

// TestDelays: each delay is where test suites expect it.
func TestDelays(t *testing.T) {
	t.Parallel()
	const d = 30 * time.Millisecond
	infers := func(c inferencepb.GRPCInferenceServiceClient) error {
		_, err := c.ModelInfer(t.Context(), echoRequest(nil))
		return err
	}
	streams := func(c inferencepb.GRPCInferenceServiceClient) error {
		stream, err := c.ModelStreamInfer(t.Context())
		require.NoError(t, err)
		r := echoRequest(nil)
		r.ModelName = "dec"
		require.NoError(t, stream.Send(r))
		_, err = stream.Recv()
		require.NoError(t, stream.CloseSend())
		transcript(stream)
		return err
	}
	for name, c := range map[string]struct {
		holds grpcapi.Delays
		call  func(inferencepb.GRPCInferenceServiceClient) error
	}{
		"process":    {grpcapi.Delays{Process: d}, infers},
		"entry":      {grpcapi.Delays{ProcessEntry: d}, infers},
		"exec":       {grpcapi.Delays{CompleteExec: d}, infers},
		"completion": {grpcapi.Delays{ResponseCompletion: d}, infers},
		"response":   {grpcapi.Delays{Response: d}, streams},
		"complete":   {grpcapi.Delays{Complete: d}, streams},
		"read":       {grpcapi.Delays{ProcessEntry: d}, streams},
		"admin": {grpcapi.Delays{AdminResponse: d}, func(c inferencepb.GRPCInferenceServiceClient) error {
			_, err := c.ServerLive(t.Context(), &inferencepb.ServerLiveRequest{})
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStub()
			client := inferencepb.NewGRPCInferenceServiceClient(serve(t, s, s, func(o *grpcapi.Options) { o.Delays = c.holds }))
			start := time.Now()
			require.NoError(t, c.call(client))
			require.GreaterOrEqual(t, time.Since(start), d)
		})
	}
}

// TestDelayedCancel: the delay postpones the cancellation of the model's request.
func TestDelayedCancel(t *testing.T) {
	t.Parallel()
	const d = 30 * time.Millisecond
	s := newStub()
	observed := make(chan time.Time, 1)
	ctx, cancel := context.WithCancel(t.Context())
	s.block = func(ctx context.Context) error {
		cancel()
		<-ctx.Done()
		observed <- time.Now()
		return ctx.Err()
	}
	conn := serve(t, s, s, func(o *grpcapi.Options) { o.Delays = grpcapi.Delays{Notification: d, Enqueue: 1} })
	_, err := inferencepb.NewGRPCInferenceServiceClient(conn).ModelInfer(ctx, echoRequest(nil))
	cancelled := time.Now()
	require.Equal(t, codes.Canceled, grpcstatus.Code(err))
	require.Greater(t, (<-observed).Sub(cancelled), d/3)
}

func TestOptionsOfMessages(t *testing.T) {
	t.Parallel()
	o := grpcapi.Default(newStub().pool)
	require.Equal(t, math.MaxInt32, o.MaxReceive)
	o.MaxReceive, o.ReadAhead = 0, -1
	require.ErrorContains(t, o.Validate(), "largest message is 0 bytes")
	require.ErrorContains(t, o.Validate(), "streams read -1 bytes ahead")
}
