package httpapi_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/httpapi"
	"triton/server/infer"
	"triton/server/trace"
)

// TestTraced checks the timestamps of infer and generate requests.
func TestTraced(t *testing.T) {
	both(t, func(t *testing.T, start serving) {
		file := filepath.Join(t.TempDir(), "trace.json")
		tracer, err := trace.New(trace.Options{Config: map[string][]trace.Setting{
			trace.Global: {{Name: "level", Value: "TIMESTAMPS"}, {Name: "rate", Value: "1"}},
			trace.Triton: {{Name: "file", Value: file}},
		}})
		require.NoError(t, err)
		addr := start(t, newService(), httpapi.Options{Tracer: tracer})
		fetch(t, "POST", addr+inferPath, one(good))
		fetch(t, "POST", addr+"/v2/models/g_one/generate", `{"INPUT0":"a"}`)
		fetch(t, "POST", addr+"/v2/models/g_repeat/generate_stream", `{"COUNT":3}`)
		fetch(t, "GET", addr+"/v2", "") // over the same connection: those before it are over
		require.NoError(t, tracer.Shutdown(context.Background()))
		got := events(t, file)
		require.Len(t, got, 15)
		each := []string{"HTTP_RECV_START", "HTTP_RECV_END", "INFER_RESPONSE_COMPLETE", "HTTP_SEND_START", "HTTP_SEND_END"}
		for i := range 3 {
			require.Equal(t, each, got[5*i:5*i+5])
		}
	})
}

// TestTracedAnswer checks that a response is complete when the model gave it, not when the
// goroutine that waits for it wakes up.
func TestTracedAnswer(t *testing.T) {
	both(t, func(t *testing.T, start serving) {
		file := filepath.Join(t.TempDir(), "trace.json")
		tracer, err := trace.New(trace.Options{Config: map[string][]trace.Setting{
			trace.Global: {{Name: "level", Value: "TIMESTAMPS"}, {Name: "rate", Value: "1"}},
			trace.Triton: {{Name: "file", Value: file}},
		}})
		require.NoError(t, err)
		s := newService()
		s.infer = func(_ context.Context, r *infer.Request) (*infer.Response, error) {
			r.Times.Answered = 1
			return infer.NewResponse(), nil
		}
		addr := start(t, s, httpapi.Options{Tracer: tracer})
		fetch(t, "POST", addr+inferPath, one(good))
		fetch(t, "GET", addr+"/v2", "") // over the same connection: the one before it is over
		require.NoError(t, tracer.Shutdown(context.Background()))
		require.Equal(t, "INFER_RESPONSE_COMPLETE", events(t, file)[0], "long before all others")
	})
}

// events are the names in a trace file, in the order of their times.
func events(t *testing.T, file string) (names []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	var all []struct {
		Timestamps []struct{ Name string }
	}
	require.NoError(t, json.Unmarshal(text, &all), "%s", text)
	for _, e := range all {
		for _, s := range e.Timestamps {
			names = append(names, s.Name)
		}
	}
	return names
}
