package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server"
	"triton/server/servertest"
)

// begun returns a server with an open sequence, whose shutdown has started.
func begun(t *testing.T, exit time.Duration) *servertest.Server {
	t.Helper()
	s := servertest.Start(t, servertest.Model("m", servertest.Identity("INT32", "1", 4)+"sequence_batching { max_sequence_idle_microseconds: 600000000 }\n"), servertest.With(func(o *server.Options) { o.ExitTimeout = exit }))
	code, body := step(t, s, 1, "S")
	require.Equal(t, http.StatusOK, code, body)
	s.Interrupt()
	return s
}

// step returns one request of a sequence on a connection of its own.
func step(t *testing.T, s *servertest.Server, id int, flags string) (int, string) {
	t.Helper()
	request := strings.Replace(accumulate(id, flags, 1), `"INPUT"`, `"INPUT0"`, 1)
	code, body, err := post(newClient(t), "http://"+s.HTTP+"/v2/models/m/infer", request)
	require.NoError(t, err)
	return code, body
}

// A sequence that has begun can go on, from new connections too, while the server
// is not ready any more.
func TestSequencesEndBeforeTheServer(t *testing.T) {
	t.Parallel()
	s := begun(t, time.Minute)
	require.Eventually(t, func() bool {
		resp, err := newClient(t).Get("http://" + s.HTTP + "/v2/health/ready")
		require.NoError(t, err)
		resp.Body.Close()
		return resp.StatusCode == http.StatusBadRequest
	}, time.Minute, time.Millisecond)
	code, body := step(t, s, 1, "")
	require.Equal(t, http.StatusOK, code, body)
	require.Eventually(t, func() bool {
		code, body = step(t, s, 2, "SE")
		return code == http.StatusServiceUnavailable
	}, time.Minute, time.Millisecond)
	require.Equal(t, `{"error":"Server is stopping, scheduler for model has stopped accepting new inference requests"}`, body)
	code, body = step(t, s, 1, "E")
	require.Equal(t, http.StatusOK, code, body)
	require.NoError(t, s.Wait())
}

func TestTheExitTimeoutEndsSequences(t *testing.T) {
	t.Parallel()
	require.ErrorIs(t, begun(t, 100*time.Millisecond).Wait(), server.ErrExitTimeout)
}

func TestKillEndsSequences(t *testing.T) {
	t.Parallel()
	s := begun(t, time.Hour)
	s.Kill()
	require.ErrorIs(t, s.Wait(), server.ErrKilled)
}
