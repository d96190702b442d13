package grpcapi_test

import (
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"triton/pkg/inferencepb"
)

// rawClient writes HTTP/2 frame by frame and drops what it receives.
func rawClient(t *testing.T, addr string) (net.Conn, *http2.Framer) {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(time.Minute)))
	_, err = c.Write([]byte(http2.ClientPreface))
	require.NoError(t, err)
	f := http2.NewFramer(c, nil)
	require.NoError(t, f.WriteSettings())
	go func() { _, _ = io.Copy(io.Discard, c) }()
	return c, f
}

// TestRapidReset: streams that are opened and reset as fast as possible leave no memory behind,
// and other clients are served meanwhile.
func TestRapidReset(t *testing.T) { // not parallel: it counts goroutines
	addr := serveTCP(t, newStub())
	client := inferencepb.NewGRPCInferenceServiceClient(dialTCP(t, addr))
	infer := func() {
		_, err := client.ModelInfer(t.Context(), echoRequest(pattern(1000)))
		require.NoError(t, err)
	}
	infer()
	before := runtime.NumGoroutine()
	_, f := rawClient(t, addr)
	headers := streamHeaders(t)
	for i := range uint32(20_000) {
		h := http2.HeadersFrameParam{StreamID: 2*i + 1, BlockFragment: headers, EndHeaders: true}
		if f.WriteHeaders(h) != nil || f.WriteRSTStream(2*i+1, http2.ErrCodeCancel) != nil {
			break // thrown out: fine too
		}
		if i%5000 == 0 {
			infer()
		}
	}
	infer()
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+8 }, time.Minute, 10*time.Millisecond)
}

// TestHostileFrames: bytes that are not HTTP/2, or a flood of frames that require replies, end
// only their own connection.
func TestHostileFrames(t *testing.T) {
	t.Parallel()
	addr := serveTCP(t, newStub())
	for name, attack := range map[string]func(net.Conn, *http2.Framer) error{
		"garbage": func(c net.Conn, _ *http2.Framer) error { _, err := c.Write(make([]byte, 1<<20)); return err },
		"pings": func(_ net.Conn, f *http2.Framer) error {
			for range 10_000 {
				if err := f.WritePing(false, [8]byte{}); err != nil {
					return err
				}
			}
			return nil
		},
		"settings": func(_ net.Conn, f *http2.Framer) error {
			for range 10_000 {
				if err := f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1}); err != nil {
					return err
				}
			}
			return nil
		},
		"endless headers": func(_ net.Conn, f *http2.Framer) error {
			err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x00, 1, 'x', 1, 'y'}})
			for i := 0; err == nil && i < 10_000; i++ {
				err = f.WriteContinuation(1, false, make([]byte, 1000))
			}
			return err
		},
		"half a frame": func(c net.Conn, _ *http2.Framer) error { _, err := c.Write([]byte{0, 40}); return err },
	} {
		c, f := rawClient(t, addr)
		_ = attack(c, f) // how far it comes does not matter
		_, err := inferencepb.NewGRPCInferenceServiceClient(dialTCP(t, addr)).ModelInfer(t.Context(), echoRequest(pattern(1000)))
		require.NoError(t, err, name)
	}
}
