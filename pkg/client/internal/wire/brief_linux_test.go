package wire

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBriefWriteIsWhole: a write that the system takes in parts keeps the connection until all of it is
// taken, so that another one does not come in between.
func TestBriefWriteIsWhole(t *testing.T) {
	t.Parallel()
	conn, s := pair(t)
	c := conn.(*briefConn)
	require.NoError(t, c.SetWriteBuffer(4<<10))
	require.NoError(t, s.(*net.TCPConn).SetReadBuffer(4<<10))
	var ended bool
	c.out.bytes = make([]byte, briefBytes)
	require.NoError(t, c.raw.Write(func(fd uintptr) bool {
		ended = c.out.call(fd)
		return true
	}))
	require.Positive(t, c.out.n)
	require.Less(t, c.out.n, briefBytes)
	require.False(t, ended)
}
