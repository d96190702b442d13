package frontend

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/infer"
	"triton/server/infer/infertest"
	"triton/server/trace"
)

// openTracer starts a tracer of each request, which writes to the file.
func openTracer(t *testing.T) (tracer *trace.Tracer, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "trace.json")
	tracer, err := trace.New(trace.Options{Config: map[string][]trace.Setting{
		trace.Global: {{Name: "level", Value: "TIMESTAMPS"}, {Name: "rate", Value: "1"}},
		trace.Triton: {{Name: "file", Value: file}},
	}})
	require.NoError(t, err)
	return tracer, file
}

func TestTimestamps(t *testing.T) {
	t.Parallel()
	for prefix, tracing := range map[string]func(*trace.Tracer, *slog.Logger) Tracing{
		"HTTP_RECV_START HTTP_RECV_END INFER_RESPONSE_COMPLETE HTTP_SEND_START HTTP_SEND_END":         HTTPTracing,
		"GRPC_WAITREAD_START GRPC_WAITREAD_END INFER_RESPONSE_COMPLETE GRPC_SEND_START GRPC_SEND_END": GRPCTracing,
	} {
		for _, received := range []int64{2, 0} {
			tracer, file := openTracer(t)
			s := tracing(tracer, nil)
			require.True(t, s.Active())
			require.NotZero(t, s.Now())
			one := s.Sample("m", nil, 1, received)
			if received == 0 {
				one.Received()
			}
			one.Answered(0)
			one.Sending()
			one.Sent()
			one.Close()
			require.NoError(t, tracer.Shutdown(context.Background()))
			require.False(t, s.Active())
			require.Zero(t, s.Now())
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			var names []string
			for _, m := range regexp.MustCompile(`"name":"(\w+)"`).FindAllSubmatch(text, -1) {
				names = append(names, string(m[1]))
			}
			require.Equal(t, prefix, strings.Join(names, " "))
		}
	}
}

func TestUntraced(t *testing.T) { //nolint:paralleltest // AllocsPerRun
	s := HTTPTracing(nil, nil)
	r := infer.NewUnpooled()
	require.Zero(t, testing.AllocsPerRun(100, func() {
		one := s.Sample("m", nil, s.Now(), 0)
		one.Received()
		one.Attach(r)
		one.Answered(0)
		one.Sending()
		one.Sent()
		one.Close()
	}))
	require.Nil(t, r.Trace)
}

func TestFaultyTrace(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	n := 0
	faulty := infertest.TraceFunc(func(infer.Event) {
		n++
		panic("a fault")
	})
	one := &Trace{trace: faulty, log: slog.New(slog.NewTextHandler(&log, nil)), names: &httpNames}
	one.Received()
	one.Answered(0)
	one.Close()
	require.Equal(t, 1, n, "a trace that panicked observes no more")
	require.Contains(t, log.String(), `msg="panic in a trace" panic="a fault"`)
	r := infer.NewUnpooled()
	one.Attach(r)
	require.Nil(t, r.Trace)
}
