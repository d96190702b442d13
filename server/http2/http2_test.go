package http2

import (
	"math"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"google.golang.org/grpc"

	"triton/pkg/h2frame"
)

func TestParseTimeout(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"1H": time.Hour, "2M": 2 * time.Minute, "3S": 3 * time.Second, "4m": 4 * time.Millisecond, "5u": 5 * time.Microsecond,
		"6n": 6, "0S": 0, "00000001M": time.Minute, "99999999H": math.MaxInt64,
	} {
		got, err := parseTimeout(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "1", "S", "-1S", "1x", "999999999S", " 1S"} {
		_, err := parseTimeout(text)
		require.Error(t, err, text)
	}
}

func TestDecodeBinary(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "AAEC": "\x00\x01\x02", "AAE=": "\x00\x01", "AAE": "\x00\x01"} {
		got, err := decodeBinary(text)
		require.NoError(t, err, text)
		require.Equal(t, want, string(got), text)
	}
	for _, text := range []string{"!", "A", "AA=", "A A="} {
		_, err := decodeBinary(text)
		require.Error(t, err, text)
	}
}

// pipes is a listener of connections in memory.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error {
	defer func() { _ = recover() }() // closed twice
	close(p)
	return nil
}
func (pipes) Addr() net.Addr { return &net.IPAddr{} }

// inBubble serves one connection in the time of a bubble. What the server sends is dropped until it closes the
// connection, whose time test gets from closed.
func inBubble(t *testing.T, o Options, test func(t *testing.T, c net.Conn, closed func() time.Duration)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		lis := make(pipes, 1)
		srv := NewServer(o)
		srv.RegisterService(&grpc.ServiceDesc{ServiceName: "s", HandlerType: (*any)(nil)}, nil)
		served := make(chan struct{})
		go func() { defer close(served); _ = srv.Serve(lis) }()
		client, server := net.Pipe()
		lis <- server
		ended, began := make(chan struct{}), time.Now()
		go func() {
			defer close(ended)
			for b := make([]byte, 4096); ; {
				if _, err := client.Read(b); err != nil {
					return
				}
			}
		}()
		_, err := client.Write([]byte(http2.ClientPreface))
		require.NoError(t, err)
		_, err = client.Write(h2frame.AppendHead(nil, 0, http2.FrameSettings, 0, 0))
		require.NoError(t, err)
		test(t, client, func() time.Duration { <-ended; return time.Since(began) })
		srv.Stop()
		_ = client.Close()
		<-served
		<-ended
	})
}

// TestLateFrames: a header list, and a frame without data, that begins and does not end has frameTime, however slowly
// its bytes come.
func TestLateFrames(t *testing.T) {
	t.Parallel()
	list := h2frame.AppendHead(nil, 40, http2.FrameHeaders, http2.FlagHeadersEndHeaders, 1)
	empty := h2frame.AppendHead(nil, 0, http2.FrameContinuation, 0, 1)
	for name, parts := range map[string][][]byte{
		"half a head":       {{0, 0, 8}},
		"half a ping":       {h2frame.AppendHead(nil, 8, http2.FramePing, 0, 0), {1}, {2}, {3}},
		"half a list":       {append(list, 0x83), {0x86}, {0x83}, {0x86}},
		"no CONTINUATION":   {h2frame.AppendHead(nil, 0, http2.FrameHeaders, 0, 1)},
		"CONTINUATION only": {h2frame.AppendHead(nil, 0, http2.FrameHeaders, 0, 1), empty, empty, empty, empty},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, Options{}, func(t *testing.T, c net.Conn, closed func() time.Duration) {
				for i, p := range parts {
					if i > 0 {
						time.Sleep(2 * time.Second)
					}
					_, err := c.Write(p)
					require.NoError(t, err)
				}
				require.Equal(t, frameTime, closed())
			})
		})
	}
}

// TestManyContinuations: a header list has a number of frames, with which it loses the connection at once.
func TestManyContinuations(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{MaxHeaderList: 8 << 10}, func(t *testing.T, c net.Conn, closed func() time.Duration) {
		_, _ = c.Write(h2frame.AppendHead(nil, 0, http2.FrameHeaders, 0, 1))
		for range minFragments + 1 {
			if _, err := c.Write(h2frame.AppendHead(nil, 0, http2.FrameContinuation, 0, 1)); err != nil {
				break
			}
		}
		require.Zero(t, closed())
	})
}

// TestKeepAlive: a silent client is pinged, and loses its connection if it does not answer.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	o := Options{}
	o.Keepalive.Time, o.Keepalive.Timeout = time.Minute, 10*time.Second
	inBubble(t, o, func(t *testing.T, _ net.Conn, closed func() time.Duration) {
		require.Equal(t, 70*time.Second, closed())
	})
}

// TestPingStrikes: clients measure the bandwidth with a ping for what they receive. Only pings without such a reason
// count.
func TestPingStrikes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := Options{}.complete()
		l := life{}
		for range 10 {
			l.sent = true
			require.NoError(t, l.pinged(true, &o.Enforcement))
		}
		require.NoError(t, l.pinged(true, &o.Enforcement))
		require.NoError(t, l.pinged(true, &o.Enforcement))
		require.ErrorContains(t, l.pinged(true, &o.Enforcement), "too_many_pings")
	})
}
