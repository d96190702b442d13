package scrape

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const page = `# TYPE nv_inference_pending_request_count gauge
nv_inference_pending_request_count{model="a",version="1"} 3
nv_inference_pending_request_count{model="a",version="2"} 4
nv_inference_pending_request_count{model="b",version="1"} 5
# TYPE nv_inference_request_success counter
nv_inference_request_success{model="a",version="1"} 17
# TYPE triton_batch_size histogram
triton_batch_size_bucket{le="+Inf"} 2
triton_batch_size_sum 3
triton_batch_size_count 2
unmeasured{gpu="1"} NaN
unmeasured{gpu="2"} +Inf
unmeasured{gpu="3"} 2
untyped 1.5`

func TestPage(t *testing.T) {
	t.Parallel()
	p, err := Parse(strings.NewReader(page))
	require.NoError(t, err)
	require.InDelta(t, 12, p.Sum("nv_inference_pending_request_count", nil), 0)
	require.InDelta(t, 7, p.Sum("nv_inference_pending_request_count", Labels{"model": "a"}), 0)
	require.InDelta(t, 4, p.Sum("nv_inference_pending_request_count", Labels{"model": "a", "version": "2"}), 0)
	require.Zero(t, p.Sum("nv_inference_pending_request_count", Labels{"absent": "a"}))
	require.InDelta(t, 17, p.Sum("nv_inference_request_success", nil), 0)
	require.InDelta(t, 1.5, p.Sum("untyped", nil), 0)
	require.Zero(t, p.Sum("triton_batch_size", nil), "a histogram has no single value")
	require.InDelta(t, 2, p.Sum("unmeasured", nil), 0, "NaN and Inf are no values")
	require.True(t, p.Has("untyped"))
	require.False(t, p.Has("absent"))
	var none *Page
	require.False(t, none.Has("untyped"))
	require.Zero(t, none.Sum("untyped", nil))
}

func TestResolve(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"localhost:8002":            "http://localhost:8002/metrics",
		"https://h:1/":              "https://h:1/metrics",
		"http://h/prefix/metrics":   "http://h/prefix/metrics",
		"http://[::1]:8002/metrics": "http://[::1]:8002/metrics",
	} {
		u, err := Resolve(in)
		require.NoError(t, err)
		require.Equal(t, want, u.String())
	}
	for _, in := range []string{"", "ftp://h", "http://", "http://user:hunter2@h:port", "grpc://user:hunter2@h"} {
		_, err := Resolve(in)
		require.Error(t, err, in)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

// TestRead: what a reader says of each way in which a server does not answer.
func TestRead(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/metrics":
			if r.Header.Get("Authorization") == "" {
				http.Error(w, "who are you?", http.StatusUnauthorized)
				return
			}
			_, _ = w.Write([]byte(page))
		case "/html":
			_, _ = w.Write([]byte("<html>"))
		case "/away":
			http.Redirect(w, r, "/metrics", http.StatusFound)
		case "/hangs":
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			<-hang
		}
	}))
	defer s.Close()
	defer close(hang)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	p, err := Source{URL: s.URL, Headers: map[string]string{"Authorization": "Bearer x"}}.Read(ctx)
	require.NoError(t, err)
	require.True(t, p.Has("untyped"))
	for _, c := range []struct{ url, want string }{
		{s.URL, "401 Unauthorized: who are you?"},
		{s.URL + "/html", "not a page of metrics"},
		{s.URL + "/away", "302 Found"},
		{"ftp://x", "is not http://"},
	} {
		_, err := Source{URL: c.url}.Read(ctx)
		require.ErrorContains(t, err, c.want)
	}
	refused := Client(&http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	}})
	_, err = Source{URL: "h:8002", Client: refused}.Read(ctx)
	require.EqualError(t, err, "read http://h:8002/metrics: no connection: connection refused")
	ended, end := context.WithDeadline(ctx, time.Now())
	defer end()
	_, err = Source{URL: s.URL + "/hangs"}.Read(ended)
	require.ErrorContains(t, err, "no answer in time")
}

func FuzzParse(f *testing.F) {
	f.Add(page)
	f.Add("a{b=\"\\n\"} NaN\n")
	f.Fuzz(func(_ *testing.T, text string) {
		p, err := Parse(strings.NewReader(text))
		if err != nil {
			return
		}
		for name := range p.families {
			p.Sum(name, Labels{"model": "a"})
		}
	})
}
