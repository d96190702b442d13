package httpapi_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
	"triton/server/access/accesstest"
	"triton/server/http1"
	"triton/server/httpapi"
	"triton/server/infer"
	"triton/server/memory"
)

const (
	waitTime = time.Minute
	pollTime = 5 * time.Millisecond
)

// open starts a stream and reads the head of its reply.
func open(t *testing.T, addr, model string) (net.Conn, *bufio.Reader, *http.Response) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	require.NoError(t, c.SetDeadline(time.Now().Add(waitTime)))
	_, err = fmt.Fprintf(c, "POST /v2/models/%s/generate_stream HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\n{\"COUNT\":1}", model)
	require.NoError(t, err)
	in := bufio.NewReader(c)
	resp, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	return c, in, resp
}

// TestStreamAtOnce: an event is sent before the next response exists, and the connection stays
// open after the stream.
func TestStreamAtOnce(t *testing.T) {
	both(t, func(t *testing.T, start serving) {
		svc := newService()
		next := make(chan struct{})
		var model sync.WaitGroup
		defer model.Wait() // it gives the request back after the last answer
		svc.models["g_repeat"].submit = func(r *infer.Request) {
			model.Go(func() {
				defer r.Release()
				r.Sink.Send(numbered(r, 0), false)
				<-next
				r.Sink.Send(numbered(r, 1), false)
				<-next
				r.Sink.Send(nil, true)
			})
		}
		addr := start(t, svc, httpapi.Options{})
		c, in, resp := open(t, addr, "g_repeat")
		defer c.Close()
		events := bufio.NewReader(resp.Body)
		for i := range 2 {
			line, err := events.ReadString('\n')
			require.NoError(t, err)
			require.Contains(t, line, fmt.Sprintf(`data: {"INDEX":%d,`, i))
			line, err = events.ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, "\n", line)
			next <- struct{}{}
		}
		rest, err := io.ReadAll(events)
		require.NoError(t, err)
		require.Empty(t, rest)
		_, err = io.WriteString(c, "GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n")
		require.NoError(t, err)
		resp, err = http.ReadResponse(in, nil)
		require.NoError(t, err)
		require.Equal(t, 200, resp.StatusCode)
	})
}

// TestStreamClientDisconnects: the request is cancelled, and later responses are released.
func TestStreamClientDisconnects(t *testing.T) {
	both(t, func(t *testing.T, start serving) {
		svc := newService()
		ended := make(chan struct{})
		svc.models["g_repeat"].submit = func(r *infer.Request) {
			go func() {
				defer close(ended)
				defer r.Release()
				r.Sink.Send(pooled(svc, r), false)
				for range time.Tick(pollTime) {
					if r.Cancelled() {
						break
					}
				}
				r.Sink.Send(pooled(svc, r), false)
				r.Sink.Send(nil, true)
			}()
		}
		addr := start(t, svc, httpapi.Options{})
		c, _, resp := open(t, addr, "g_repeat")
		_, err := bufio.NewReader(resp.Body).ReadString('\n')
		require.NoError(t, err)
		require.NoError(t, c.Close())
		<-ended
	})
}

func pooled(svc *stub, r *infer.Request) *infer.Response {
	resp := infer.NewResponse()
	resp.ModelName, resp.ModelVersion = r.ModelName, "1"
	resp.Add("INDEX", tensor.Int32, tensor.Shape{4}, tensor.NewData(svc.pool.Get(16)))
	return resp
}

// TestSlowReader: for a client that does not read a stream, the unread responses are bounded; when
// it reads again it gets them, and then an error.
func TestSlowReader(t *testing.T) {
	svc := newService()
	const size, count = 4<<20 - 4, 40 // 4 MiB with its length
	data := bytes.Repeat([]byte("a"), size)
	sent := make(chan bool, 1)
	svc.models["g_repeat"].submit = func(r *infer.Request) {
		defer r.Release()
		for range count {
			resp := infer.NewResponse()
			resp.ModelName, resp.ModelVersion = r.ModelName, "1"
			b := svc.pool.Get(4 + size)
			binary.LittleEndian.PutUint32(b.Bytes(), size)
			copy(b.Bytes()[4:], data)
			resp.Add("TEXT", tensor.Bytes, tensor.Shape{1}, tensor.NewData(b))
			r.Sink.Send(resp, false)
		}
		sent <- r.Cancelled()
		r.Sink.Send(nil, true)
	}
	addr := start(t, svc, newServer(svc, httpapi.Options{Pool: svc.pool, MaxUnread: 64 << 20}))
	c, _, resp := open(t, addr, "g_repeat")
	defer c.Close()
	require.True(t, <-sent, "the request was not cancelled")
	require.LessOrEqual(t, svc.pool.Bytes(), int64(96<<20))
	require.NoError(t, c.SetDeadline(time.Now().Add(5*waitTime)))
	all, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	events := strings.Split(string(all), "\n\n")
	require.Greater(t, len(events), 15)
	require.Less(t, len(events), count)
	require.Contains(t, events[len(events)-2], `data: {"error":"the request was cancelled because the client reads the stream too slowly: more than 67108864 bytes`)
}

// TestRevokedBeforeTheFirstResponse: a stream whose caller is refused before there is an event has the
// status of the refusal. Its request is cancelled.
func TestRevokedBeforeTheFirstResponse(t *testing.T) {
	both(t, func(t *testing.T, start serving) {
		guard, keys, audit := accesstest.New(t, "rules:\n- {who: ['key:a'], allow: [infer], models: ['*']}\n", "a")
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { guard.Run(ctx) })
		defer running.Wait()
		defer stop()
		svc := newService()
		svc.models["g_repeat"].submit = func(r *infer.Request) {
			running.Go(func() {
				defer r.Release()
				if os.WriteFile(filepath.Join(filepath.Dir(audit), "keys"), []byte("# revoked\n"), 0o600) != nil {
					t.Error("cannot write the file of keys")
				}
				for !r.Cancelled() {
					time.Sleep(pollTime)
				}
				r.Sink.Send(nil, true)
			})
		}
		addr := start(t, svc, httpapi.Options{Guard: guard})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+"/v2/models/g_repeat/generate_stream", strings.NewReader(`{"COUNT":1}`))
		require.NoError(t, err)
		req.Header.Set("X-API-Key", keys["a"])
		tr := &http.Transport{}
		defer tr.CloseIdleConnections()
		resp, err := tr.RoundTrip(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		require.Equal(t, 401, resp.StatusCode)
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, "data: {\"error\":\"the stream was ended: the credentials are not valid\"}\n\n", string(text))
	})
}

// TestStreamThatHoldsMost: when the memory is short, of the streams whose clients do not read the one
// that holds most is cancelled and freed, also if it takes no more already.
func TestStreamThatHoldsMost(t *testing.T) {
	t.Parallel()
	for name, maxUnread := range map[string]int{"below its limit": 0, "at its limit": 15 << 20} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				budget := memory.New(64 << 20)
				svc := newStub(tensor.NewPoolOf(tensor.PoolOptions{Account: budget.Pools()}))
				running := make(chan *infer.Request)
				svc.models["g_repeat"].submit = func(r *infer.Request) { running <- r }
				server := http1.NewServer(httpapi.New(svc, httpapi.Options{Pool: svc.pool, Memory: budget, MaxUnread: maxUnread}), http1.Options{})
				l := &pipes{make(chan net.Conn), make(chan struct{})}
				done := make(chan error, 1)
				go func() { done <- server.Serve(l) }()
				defer func() {
					require.NoError(t, server.Shutdown(t.Context()))
					<-done
					require.Zero(t, budget.Total())
				}()
				begin := func() (net.Conn, *infer.Request) {
					c := l.dial()
					go func() {
						_, _ = io.WriteString(c, "POST /v2/models/g_repeat/generate_stream HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\n{\"COUNT\":1}")
					}()
					return c, <-running
				}
				answer := func(r *infer.Request, n int) {
					for range n { // of 1 MiB
						const size = 1<<20 - 4
						b, err := svc.pool.TryGet(4 + size)
						require.NoError(t, err)
						binary.LittleEndian.PutUint32(b.Bytes(), size)
						copy(b.Bytes()[4:], bytes.Repeat([]byte("a"), size))
						resp := infer.NewResponse()
						resp.ModelName, resp.ModelVersion = r.ModelName, "1"
						resp.Add("TEXT", tensor.Bytes, tensor.Shape{1}, tensor.NewData(b))
						r.Sink.Send(resp, false)
						synctest.Wait()
					}
				}
				const large, small = 16, 12
				largest, r := begin()
				other, s := begin()
				defer largest.Close()
				defer other.Close()
				answer(r, large)
				answer(s, small)
				require.EqualValues(t, 1, budget.Cancelled())
				require.True(t, r.Cancelled())
				require.False(t, s.Cancelled())
				require.Less(t, budget.Total(), int64(30<<20), "what waited is freed")
				for _, q := range []*infer.Request{r, s} {
					q.Sink.Send(nil, true)
					q.Release()
				}
				events := func(c net.Conn) []string {
					resp, err := http.ReadResponse(bufio.NewReader(c), nil)
					require.NoError(t, err)
					all, err := io.ReadAll(resp.Body)
					require.NoError(t, err)
					return strings.Split(strings.TrimSpace(string(all)), "\n\n")
				}
				ended := events(largest)
				require.Contains(t, ended[len(ended)-1], `data: {"error":"the stream was cancelled because its client reads too slowly and the memory`)
				require.LessOrEqual(t, len(ended), 3)
				require.Len(t, events(other), small)
			})
		})
	}
}
