package grpcapi_test

import (
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"google.golang.org/grpc/test/bufconn"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve/rpc"
	"triton/server/connlimit"
	"triton/server/grpcapi"
)

// headTime is the server's time for the headers of a call.
const headTime = 10 * time.Second

// TestHeadersWithoutEnd: headers end within ten seconds and 64 CONTINUATION frames, or their connection does.
// Other connections are served.
func TestHeadersWithoutEnd(t *testing.T) {
	begin := func(t *testing.T, c *slowClient) {
		t.Helper()
		require.NoError(t, c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: streamHeaders(t)}))
	}
	for name, c := range map[string]struct {
		send func(t *testing.T, c *slowClient)
		late bool // the connection ends with the time
	}{
		"then nothing": {begin, true},
		"half a frame": {func(t *testing.T, c *slowClient) {
			t.Helper()
			_, err := c.conn.Write([]byte{0, 0, 40, 1, 4, 0, 0, 0, 1, 0x83})
			require.NoError(t, err)
		}, true},
		"a frame a second": {func(t *testing.T, c *slowClient) {
			t.Helper()
			begin(t, c)
			for range 8 {
				time.Sleep(time.Second)
				require.NoError(t, c.framer.WriteContinuation(1, false, nil))
			}
		}, true},
		"empty frames": {func(t *testing.T, c *slowClient) {
			t.Helper()
			begin(t, c)
			for range 1000 {
				if c.framer.WriteContinuation(1, false, nil) != nil {
					return
				}
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, slow *slowClient, other inferencepb.GRPCInferenceServiceClient) {
				closed, began := slow.closed(), time.Now()
				c.send(t, slow)
				synctest.Wait()
				_, err := other.ModelInfer(t.Context(), echoRequest(pattern(10)))
				require.NoError(t, err)
				<-closed
				if c.late {
					require.Equal(t, headTime, time.Since(began))
				} else {
					require.Zero(t, time.Since(began))
				}
				_, err = other.ModelInfer(t.Context(), echoRequest(pattern(10)))
				require.NoError(t, err)
			})
		})
	}
}

// TestSlowHeaders: headers in many frames are served, and each call has the whole time.
func TestSlowHeaders(t *testing.T) {
	inBubble(t, func(t *testing.T, slow *slowClient, _ inferencepb.GRPCInferenceServiceClient) {
		block := streamHeaders(t)
		for id := uint32(1); id < 7; id += 2 {
			ends := make(chan map[uint32]end, 1)
			go func() { ends <- slow.await(1) }()
			require.NoError(t, slow.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id}))
			time.Sleep(headTime - time.Second)
			for part := range slices.Chunk(block, 4) {
				require.NoError(t, slow.framer.WriteContinuation(id, false, part))
			}
			require.NoError(t, slow.framer.WriteContinuation(id, true, nil))
			require.NoError(t, slow.framer.WriteData(id, true, framed(t, echoRequest(pattern(10)))))
			require.Equal(t, map[uint32]end{id: {}}, <-ends)
		}
		time.Sleep(time.Hour)
		require.NoError(t, slow.framer.WritePing(false, [8]byte{}), "the connection is open")
	})
}

// limitedListener counts its connections like those of a server.
type limitedListener struct {
	*bufconn.Listener
	limit *connlimit.Limit
}

type limitedConn struct {
	net.Conn
	use *connlimit.Conn
}

func (c *limitedConn) Use() *connlimit.Conn { return c.use }

func (l limitedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	use, _ := l.limit.Open(func() { _ = c.Close() }, false)
	return &limitedConn{c, use}, nil
}

// serveCounted serves to one client, whose connection counts.
func serveCounted(t *testing.T) (*slowClient, *connlimit.Limit) {
	t.Helper()
	s := newStub()
	lis := limitedListener{bufconn.Listen(1 << 20), connlimit.New(1)}
	opts := grpcapi.Default(s.pool)
	srv := newServer(t, s, opts)
	done := make(chan error, 1)
	go func() { done <- srv.Serve(lis) }()
	conn, err := lis.Dial()
	require.NoError(t, err)
	t.Cleanup(func() {
		conn.Close()
		srv.Stop()
		require.NoError(t, <-done)
	})
	return slowClientOver(t, conn), lis.limit
}

// TestLateIsCounted: connections that end because their clients do not send in time are counted.
func TestLateIsCounted(t *testing.T) {
	t.Parallel()
	for name, send := range map[string]func(*slowClient){
		"headers": func(c *slowClient) {
			require.NoError(c.t, c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: streamHeaders(c.t)}))
		},
		"message": func(c *slowClient) { c.open(1, rpc.ModelInfer); c.announce(1, 1000) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, limit := serveCounted(t)
				send(c)
				<-c.closed()
				synctest.Wait()
				require.Equal(t, uint64(1), limit.Late())
			})
		})
	}
}

// TestCallsHoldConnections: a connection with a call makes room for no other one. Headers alone are no call,
// or a client could lock others out with them.
func TestCallsHoldConnections(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method string
		send   func(*slowClient)
		held   bool
	}{
		"headers of an inference":      {rpc.ModelInfer, func(*slowClient) {}, false},
		"headers of another call":      {"/" + rpc.Service + "/ServerLive", func(*slowClient) {}, false},
		"headers of a stream":          {rpc.ModelStreamInfer, func(*slowClient) {}, false},
		"part of the message's header": {rpc.ModelInfer, func(c *slowClient) { _ = c.framer.WriteData(1, false, []byte{0}) }, false},
		"message of an inference":      {rpc.ModelInfer, func(c *slowClient) { c.announce(1, 1000) }, true},
		"message of another call":      {"/" + rpc.Service + "/ServerLive", func(c *slowClient) { c.announce(1, 1000) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client, limit := serveCounted(t)
				client.open(1, c.method)
				c.send(client)
				synctest.Wait()
				require.Zero(t, limit.Late())
				_, room := limit.Open(func() {}, false)
				require.Equal(t, !c.held, room)
				if c.held { // until its end
					require.NoError(t, client.framer.WriteRSTStream(1, http2.ErrCodeCancel))
					synctest.Wait()
					_, room = limit.Open(func() {}, false)
					require.True(t, room)
				}
			})
		})
	}
}

// TestPreface: the preface and the first frame arrive within two minutes, also one byte at a time.
func TestPreface(t *testing.T) {
	for name, send := range map[string]func(net.Conn){
		"nothing": func(net.Conn) {},
		"a byte at a time": func(c net.Conn) {
			for _, b := range []byte(http2.ClientPreface) {
				if _, err := c.Write([]byte{b}); err != nil {
					return
				}
				time.Sleep(10 * time.Second)
			}
		},
		"without SETTINGS": func(c net.Conn) { _, _ = c.Write([]byte(http2.ClientPreface)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStub()
				lis := bufconn.Listen(1 << 20)
				opts := grpcapi.Default(s.pool)
				srv := newServer(t, s, opts)
				done := make(chan error, 1)
				go func() { done <- srv.Serve(lis) }()
				c, err := lis.Dial()
				require.NoError(t, err)
				defer func() {
					c.Close()
					srv.Stop()
					require.NoError(t, <-done)
				}()
				began := time.Now()
				var sending sync.WaitGroup
				defer sending.Wait()
				sending.Go(func() { send(c) })
				_, err = io.Copy(io.Discard, c)
				require.NoError(t, err)
				require.Equal(t, 2*time.Minute, time.Since(began))
			})
		})
	}
}
