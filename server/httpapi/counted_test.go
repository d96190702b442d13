package httpapi_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/log"
	"triton/pkg/tensor"
	"triton/pkg/trafficrules"
	"triton/server/http1"
	"triton/server/http1/http1test"
	"triton/server/httpapi"
	"triton/server/memory"
	"triton/server/shm"
	"triton/server/trace"
)

// readsBody are the endpoints that read a body.
var readsBody = map[string]bool{
	"POST /v2/models/MODEL/infer": true, "POST /v2/models/MODEL/versions/1/infer": true,
	"POST /v2/models/MODEL/generate": true, "POST /v2/models/MODEL/generate_stream": true,
	"POST /v2/repository/index": true, "POST /v2/repository/r/index": true,
	"POST /v2/repository/models/MODEL/load": true, "POST /v2/repository/models/MODEL/unload": true,
	"POST /v2/systemsharedmemory/region/r/register": true, "POST /v2/cudasharedmemory/region/r/register": true,
	"POST /v2/trace/setting": true, "POST /v2/models/MODEL/trace/setting": true, "POST /v2/logging": true,
	"POST /v2/repository/models/MODEL/traffic": true, "PUT /v2/repository/state": true,
}

// TestEveryBodyIsCounted sends every request while no memory is left: an endpoint that reads a body
// refuses it before it asks for it, the others do not ask for it.
func TestEveryBodyIsCounted(t *testing.T) {
	t.Parallel()
	for encoding, header := range map[string]string{"known": "Content-Length: 1000", "chunked": "Transfer-Encoding: chunked"} {
		t.Run(encoding, func(t *testing.T) {
			t.Parallel()
			http1test.Both(t, func(t *testing.T, serve http1test.Serving) {
				budget := memory.New(8 << 20)
				tracer, err := trace.New(trace.Options{})
				require.NoError(t, err)
				logs, err := log.Open(log.DefaultSettings(), io.Discard, io.Discard)
				require.NoError(t, err)
				svc := newStub(tensor.NewPoolOf(tensor.PoolOptions{Account: budget.Pools()}))
				svc.stats = &inferencepb.ModelStatisticsResponse{}
				addr := serve(t, httpapi.New(svc, httpapi.Options{
					Pool: svc.pool, Memory: budget, Tracer: tracer, Logs: logs, Traffic: noTraffic{}, State: noState{},
					Regions: shm.New(shm.Options{Allow: true}),
				}), http1.Options{})
				budget.Add(memory.Messages, int(budget.Limit()))
				seen := 0
				for _, r := range httpapi.RouteSamples() {
					name := r.Method + " " + r.Path
					resp, text := offer(t, addr, r.Method, strings.ReplaceAll(r.Path, "MODEL", "g_one"), header)
					require.NotEqual(t, http.StatusContinue, resp.StatusCode, "%s asks for its body", name)
					if !readsBody[name] {
						require.NotContains(t, text, "no memory", name)
						continue
					}
					seen++
					require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode, "%s: %s", name, text)
					require.Contains(t, text, "no memory", name)
					require.Equal(t, "1", resp.Header.Get("Retry-After"), name)
				}
				require.Equal(t, len(readsBody), seen)
			})
		})
	}
}

// TestLongRepliesAreCounted: the texts of replies that are no inference count too.
func TestLongRepliesAreCounted(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, start serving) {
		budget := memory.New(64 << 20)
		svc := newStub(tensor.NewPool())
		svc.stats = &inferencepb.ModelStatisticsResponse{ModelStats: []*inferencepb.ModelStatistics{{Name: strings.Repeat("m", 1<<20)}}}
		addr := start(t, svc, httpapi.Options{Memory: budget})
		ask := func() (*http.Response, string) {
			resp, err := http.Get("http://" + addr + "/v2/models/stats")
			require.NoError(t, err)
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			return resp, string(text)
		}
		resp, _ := ask()
		require.Equal(t, http.StatusOK, resp.StatusCode)
		budget.Add(memory.Messages, 56<<20)
		resp, text := ask()
		require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
		require.Equal(t, "1", resp.Header.Get("Retry-After"))
		require.Contains(t, text, "no memory")
		budget.Return(memory.Messages, 56<<20)
		require.Eventually(t, func() bool { return budget.Total() == 0 }, waitTime, pollTime)
	})
}

// offer announces a body and returns the reply, without sending it.
func offer(t *testing.T, addr, method, path, header string) (*http.Response, string) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetDeadline(time.Now().Add(waitTime)))
	_, err = fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n%s\r\n\r\n", method, path, header)
	require.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	if resp.StatusCode == http.StatusContinue {
		return resp, ""
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(text)
}

// noTraffic has no rules and noState no state.
type (
	noTraffic struct{}
	noState   struct{}
)

func (noTraffic) Status(string, bool) (*trafficrules.Status, error) {
	return &trafficrules.Status{}, nil
}
func (noTraffic) List() []*trafficrules.Status                       { return nil }
func (noTraffic) Set(context.Context, string, []byte, *uint64) error { return nil }
func (noTraffic) Delete(context.Context, string, *uint64) error      { return nil }
func (noTraffic) Promote(string) error                               { return nil }
func (noTraffic) Rollback(string) error                              { return nil }
func (noState) ExportState(context.Context) ([]byte, error)          { return []byte("{}"), nil }

func (noState) ApplyState(context.Context, []byte, bool) ([]byte, error) { return []byte("{}"), nil }
