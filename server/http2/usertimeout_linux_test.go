package http2

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestUserTimeout: the system ends a connection whose client acknowledges nothing for the time of an unanswered ping.
func TestUserTimeout(t *testing.T) {
	t.Parallel()
	o := Options{}
	o.Keepalive.Timeout = 7 * time.Second
	test := func(t *testing.T, s *Server, _ *wirePeer) {
		raw, err := s.connections()[0].tcp.SyscallConn()
		require.NoError(t, err)
		require.NoError(t, raw.Control(func(fd uintptr) {
			ms, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
			require.NoError(t, err)
			require.Equal(t, 7000, ms)
		}))
	}
	t.Run("tcp", func(t *testing.T) { t.Parallel(); overTCP(t, o, nil, test) })
	t.Run("tls", func(t *testing.T) { t.Parallel(); overTLS(t, o, nil, test) })
}
