package server

import (
	"bytes"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/mem"
)

// counting is a pool that knows how many buffers are out.
type counting struct{ out int }

func (p *counting) Get(n int) *[]byte { p.out++; b := make([]byte, n); return &b }
func (p *counting) Put(*[]byte)       { p.out-- }

var _ mem.BufferPool = (*counting)(nil)

// TestReadOnReady reads all bytes, then the end, with no buffer left over; also
// where one cannot wait for data alone.
func TestReadOnReady(t *testing.T) {
	t.Parallel()
	sent := bytes.Repeat([]byte("0123456789"), 100)
	for name, pair := range map[string]func() (net.Conn, net.Conn){"tcp": tcpPair(t), "pipe": net.Pipe} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, end := pair()
			l := &countingListener{}
			l.open.Add(1)
			c := &countedConn{Conn: end, open: &l.open, handshakes: &l.handshakes, ready: newReadyReader(end)}
			defer c.Close()
			go func() {
				_, _ = client.Write(sent)
				client.Close()
			}()
			var pool counting
			var got []byte
			for {
				b, n, err := c.ReadOnReady(64, &pool)
				if b != nil {
					got = append(got, (*b)[:n]...)
					pool.Put(b)
				}
				if err != nil {
					require.ErrorIs(t, err, io.EOF)
					break
				}
			}
			require.Equal(t, sent, got)
			require.Zero(t, pool.out)
		})
	}
}

func tcpPair(t *testing.T) func() (net.Conn, net.Conn) {
	return func() (net.Conn, net.Conn) {
		lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer lis.Close()
		client, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", lis.Addr().String())
		require.NoError(t, err)
		c, err := lis.Accept()
		require.NoError(t, err)
		return client, c
	}
}
