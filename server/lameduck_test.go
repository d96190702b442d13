package server_test

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	grpcstatus "google.golang.org/grpc/status"

	"triton/pkg/inferencepb"
	"triton/server"
	"triton/server/servertest"
)

// TestLameDuck: after the first signal the server is not ready at once and serves everything
// until the drain delay is over. Hurry ends the delay.
func TestLameDuck(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.Model("m", servertest.Identity("INT32", "4", 8)),
		servertest.With(func(o *server.Options) { o.DrainDelay = time.Hour }))
	require.False(t, s.Hurry(), "there is no delay yet")
	conn, err := grpc.NewClient(s.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	watch, err := grpc_health_v1.NewHealthClient(conn).Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	require.NoError(t, err)
	next := func() grpc_health_v1.HealthCheckResponse_ServingStatus {
		m, err := watch.Recv()
		require.NoError(t, err)
		return m.GetStatus()
	}
	require.Equal(t, grpc_health_v1.HealthCheckResponse_SERVING, next())
	s.Interrupt()
	require.Equal(t, grpc_health_v1.HealthCheckResponse_NOT_SERVING, next())
	code, r := health(t, s, "/v2/health/ready")
	require.Equal(t, http.StatusBadRequest, code)
	require.Equal(t, "draining", r.Phase)
	require.Equal(t, []string{"the server is shutting down"}, r.Reasons)
	code, _ = health(t, s, "/v2/health/live")
	require.Equal(t, http.StatusOK, code)
	g := inferencepb.NewGRPCInferenceServiceClient(conn)
	ready, err := g.ServerReady(t.Context(), &inferencepb.ServerReadyRequest{})
	require.NoError(t, err)
	require.False(t, ready.GetReady())
	_, err = g.ModelReady(t.Context(), &inferencepb.ModelReadyRequest{Name: "m"})
	require.Equal(t, codes.Unavailable, grpcstatus.Code(err))
	for range 20 { // each over a new connection
		code, text, err := post(newClient(t), "http://"+s.HTTP+"/v2/models/m/infer", body)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, code, text)
	}
	require.Eventually(t, s.Hurry, time.Minute, time.Millisecond)
	require.NoError(t, s.Wait())
	require.False(t, s.Hurry())
}

// TestLameDuckIsKilled: Kill ends the delay too.
func TestLameDuckIsKilled(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.Model("m", servertest.Identity("INT32", "4", 8)),
		servertest.With(func(o *server.Options) { o.DrainDelay = time.Hour }))
	s.Interrupt()
	s.Kill()
	require.ErrorIs(t, s.Wait(), server.ErrKilled)
}

// TestLameDuckLosesNothing: clients that stop when they see that the server is not ready, as
// those behind a load balancer do, lose no request, although each request may use a new
// connection. In the second half of the delay their connections end with their replies.
func TestLameDuckLosesNothing(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.Model("m", servertest.Identity("INT32", "4", 8)),
		servertest.With(func(o *server.Options) { o.DrainDelay = 2 * time.Second }))
	var clients sync.WaitGroup
	var answered, told atomic.Int64
	var left atomic.Bool // the load balancer has noticed
	for i := range 8 {
		clients.Go(func() {
			c := newClient(t)
			c.Transport = &http.Transport{DisableKeepAlives: i%2 == 0}
			for !left.Load() {
				resp, err := c.Post("http://"+s.HTTP+"/v2/models/m/infer", "application/json", strings.NewReader(body))
				if err != nil {
					t.Errorf("a request was lost: %v", err)
					return
				}
				resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					t.Errorf("status %d", resp.StatusCode)
					return
				}
				answered.Add(1)
				if resp.Close && i%2 == 1 {
					told.Add(1)
				}
			}
			c.CloseIdleConnections()
		})
	}
	require.Eventually(t, func() bool { return answered.Load() > 200 }, time.Minute, time.Millisecond)
	s.Interrupt()
	require.Eventually(t, func() bool { return told.Load() > 20 }, time.Minute, time.Millisecond)
	left.Store(true)
	clients.Wait()
	require.NoError(t, s.Wait())
}
