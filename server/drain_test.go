package server_test

import (
	"bufio"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"

	"triton/server"
	"triton/server/servertest"
)

// TestDrainSendsClose: clients that keep their connection busy get "Connection: close", so that
// they send no request over a closed connection.
func TestDrainSendsClose(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.Model("m", servertest.Identity("INT32", "4", 8)),
		servertest.With(func(o *server.Options) { o.HTTP.IdleGrace = 10 * time.Second }))
	var clients sync.WaitGroup
	var served, lost, closed atomic.Int64
	for range 8 {
		clients.Go(func() {
			conn, err := net.Dial("tcp", s.HTTP)
			if err != nil {
				lost.Add(1)
				return
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(2 * time.Minute))
			in := bufio.NewReader(conn)
			for {
				req, _ := http.NewRequest(http.MethodPost, "http://"+s.HTTP+"/v2/models/m/infer", strings.NewReader(body))
				if req.Write(conn) != nil {
					lost.Add(1)
					return
				}
				resp, err := http.ReadResponse(in, req)
				if err != nil || resp.StatusCode != http.StatusOK {
					lost.Add(1)
					return
				}
				resp.Body.Close()
				served.Add(1)
				if resp.Close {
					closed.Add(1)
					return
				}
			}
		})
	}
	require.Eventually(t, func() bool { return served.Load() > 200 }, time.Minute, time.Millisecond)
	s.Interrupt()
	clients.Wait()
	require.NoError(t, s.Wait())
	require.Zero(t, lost.Load(), "requests on connections that were open were lost")
	require.EqualValues(t, 8, closed.Load())
}

// TestDrainEndsWatches: a client that watches the health does not hold the end
// up.
func TestDrainEndsWatches(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.Model("m", servertest.Identity("INT32", "4", 8)),
		servertest.With(func(o *server.Options) { o.ExitTimeout = time.Hour }))
	conn, err := grpc.NewClient(s.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	watch, err := grpc_health_v1.NewHealthClient(conn).Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	require.NoError(t, err)
	state, err := watch.Recv()
	require.NoError(t, err)
	require.Equal(t, grpc_health_v1.HealthCheckResponse_SERVING, state.Status)
	s.Stop(t)
	require.NoError(t, s.Wait())
}
