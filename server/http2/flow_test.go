package http2

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"triton/pkg/h2frame"
)

// TestWindowOverflow: a window beyond 2^31-1 is an error of what it belongs to, however it came about.
func TestWindowOverflow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		frames [][]byte
		want   []string
	}{
		"connection": {[][]byte{update(0, h2frame.MaxWindow)}, []string{"GOAWAY 0 FLOW_CONTROL_ERROR", "closed"}},
		"stream":     {[][]byte{begin(1, "stream"), update(1, h2frame.MaxWindow), ping(0)}, []string{"RST_STREAM 1 FLOW_CONTROL_ERROR", "PING ack"}},
		"setting with a stream open": {
			[][]byte{begin(1, "stream"), update(1, h2frame.MaxWindow-h2frame.InitialWindow), initialWindow(h2frame.InitialWindow + 1)},
			[]string{"GOAWAY 1 FLOW_CONTROL_ERROR", "closed"},
		},
		"setting":         {[][]byte{initialWindow(1 << 31)}, []string{"GOAWAY 0 FLOW_CONTROL_ERROR", "closed"}},
		"connection by 0": {[][]byte{update(0, 0)}, []string{"GOAWAY 0 PROTOCOL_ERROR", "closed"}},
		"stream by 0":     {[][]byte{begin(1, "stream"), update(1, 0), ping(0)}, []string{"RST_STREAM 1 PROTOCOL_ERROR", "PING ack"}},
		"ended stream by 0": {
			[][]byte{begin(1, "stream"), reset(1), update(1, 0), ping(0)}, []string{"RST_STREAM 1 PROTOCOL_ERROR", "PING ack"},
		},
		"ended stream": {[][]byte{begin(1, "stream"), reset(1), update(1, h2frame.MaxWindow), ping(0)}, []string{"PING ack"}},
		"the most":     {[][]byte{begin(1, "stream"), update(1, h2frame.MaxWindow-h2frame.InitialWindow), ping(0)}, []string{"PING ack"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, Options{}, handlers{"stream": hold}, func(_ *testing.T, _ *Server, p *wirePeer) {
				p.send(c.frames...)
				p.expect(c.want...)
			})
		})
	}
}

// TestWindowsOfOpenStreams: SETTINGS_INITIAL_WINDOW_SIZE changes the windows of open streams by the difference, and
// may make them negative.
func TestWindowsOfOpenStreams(t *testing.T) {
	t.Parallel()
	onBoth(t, Options{}, handlers{"m": give(100)}, func(_ *testing.T, _ *Server, p *wirePeer) {
		p.send(initialWindow(10))
		p.expect("SETTINGS ack")
		p.send(whole(1, "m"))
		p.expect("HEADERS 1", "DATA 1 10")
		p.send(initialWindow(30))
		p.expect("SETTINGS ack", "DATA 1 20")
		p.send(initialWindow(0))
		p.expect("SETTINGS ack")
		p.send(update(1, 30))
		p.expectNothing()
		p.send(update(1, 74))
		p.expect("DATA 1 74")
		p.send(update(1, 1))
		p.expect("DATA 1 1", "HEADERS 1 end")
		p.send(whole(3, "m"), update(3, 1000))
		p.expect("HEADERS 3", "DATA 3 105", "HEADERS 3 end")
	})
}

// TestWindowOfConnection: all calls together send no more than it has, and go on when it opens.
func TestWindowOfConnection(t *testing.T) {
	t.Parallel()
	const size = 70_000
	onBoth(t, Options{}, handlers{"m": give(size)}, func(_ *testing.T, _ *Server, p *wirePeer) {
		p.send(initialWindow(1 << 20))
		p.expect("SETTINGS ack")
		p.send(whole(1, "m"))
		p.expect("HEADERS 1")
		p.expectData(1, h2frame.InitialWindow)
		p.send(whole(3, "m"), reset(3))
		p.expectNothing()
		p.send(update(0, 10_000))
		p.expectData(1, size+prefixLen-h2frame.InitialWindow)
		p.expect("HEADERS 1 end")
	})
}

// TestStalledCalls: a call whose client opens no window ends: a unary one after stallTime, and every one when its
// client resets it, its time is over, its client leaves, or the server stops.
func TestStalledCalls(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method string
		more   [][2]string
		end    func(s *Server, p *wirePeer)
		want   codes.Code
		after  time.Duration
	}{
		"unary":    {"m", nil, func(_ *Server, p *wirePeer) { p.expect("RST_STREAM 1 CANCEL") }, codes.Canceled, stallTime},
		"reset":    {"stream", nil, func(_ *Server, p *wirePeer) { p.send(reset(1)) }, codes.Canceled, 0},
		"deadline": {"stream", [][2]string{{"grpc-timeout", "1H"}}, func(_ *Server, p *wirePeer) { p.expect("RST_STREAM 1 CANCEL") }, codes.DeadlineExceeded, time.Hour},
		"leave":    {"stream", nil, func(_ *Server, p *wirePeer) { _ = p.conn.Close() }, codes.Canceled, 0},
		"stop":     {"m", nil, func(s *Server, _ *wirePeer) { s.Stop() }, codes.Canceled, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got error
			answer := func(srv any, s grpc.ServerStream) error {
				got = give(100)(srv, s)
				return got
			}
			inBubblePeer(t, Options{}, handlers{"m": answer, "stream": answer}, func(t *testing.T, s *Server, p *wirePeer) {
				p.send(initialWindow(0))
				p.expect("SETTINGS ack")
				began := time.Now()
				p.send(begin(1, c.method, c.more...), data(1, make([]byte, prefixLen), true))
				p.expect("HEADERS 1")
				c.end(s, p)
				synctest.Wait()
				require.Equal(t, c.want, status.Code(got))
				require.Equal(t, c.after, time.Since(began))
			})
		})
	}
}

// TestSlowWindows: what counts is how much of the window a client opens in stallTime, and only for unary calls.
func TestSlowWindows(t *testing.T) {
	t.Parallel()
	const size = 200_000
	open := func(step, wait int, until time.Duration) func(p *wirePeer) {
		return func(p *wirePeer) {
			sent := 0
			pause := time.Duration(wait) * time.Second
			for began := time.Now(); sent < size+prefixLen && time.Since(began)+pause < until; {
				time.Sleep(pause)
				n := min(step, size+prefixLen-sent)
				p.send(update(1, n))
				p.expectData(1, n)
				sent += n
			}
		}
	}
	for name, c := range map[string]struct {
		method string
		open   func(p *wirePeer)
		want   []string
	}{
		"fast enough":      {"m", open(stallBytes, 119, time.Hour), []string{"HEADERS 1 end"}},
		"a byte at a time": {"m", open(1, 50, stallTime), []string{"RST_STREAM 1 CANCEL"}},
		"a little less":    {"m", open(stallBytes/2, 61, stallTime), []string{"RST_STREAM 1 CANCEL"}},
		"a stream":         {"stream", open(50_000, 3600, 24*time.Hour), []string{"HEADERS 1 end"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubblePeer(t, Options{}, handlers{"m": give(size), "stream": give(size)}, func(t *testing.T, _ *Server, p *wirePeer) {
				p.send(initialWindow(0), update(0, 1<<20))
				p.expect("SETTINGS ack")
				p.send(whole(1, c.method))
				p.expect("HEADERS 1")
				began := time.Now()
				c.open(p)
				p.expect(c.want...)
				if c.want[0] == "RST_STREAM 1 CANCEL" {
					require.Equal(t, stallTime, time.Since(began))
				}
				p.send(initialWindow(1000), whole(3, "missing"))
				p.expect("SETTINGS ack", "HEADERS 3 end")
			})
		})
	}
}

// TestReceiveWindows: bytes beyond the window of a call end it, and those beyond the window of the connection end that.
func TestReceiveWindows(t *testing.T) {
	t.Parallel()
	part := make([]byte, 16<<10)
	for name, c := range map[string]struct {
		options Options
		frames  [][]byte
		want    []string
	}{
		"all of it": {
			Options{ConnWindow: 1 << 20},
			[][]byte{data(1, part, false), data(1, part, false), data(1, part, false), data(1, part[1:], false), ping(0)},
			[]string{"PING ack"},
		},
		"a byte more": {
			Options{ConnWindow: 1 << 20},
			[][]byte{data(1, part, false), data(1, part, false), data(1, part, false), data(1, part, false), ping(0)},
			[]string{"RST_STREAM 1 FLOW_CONTROL_ERROR", "PING ack"},
		},
		"by padding": {
			Options{ConnWindow: 1 << 20},
			[][]byte{
				data(1, part, false), data(1, part, false), data(1, part, false),
				append(h2frame.AppendHead(nil, len(part), http2.FrameData, http2.FlagDataPadded, 1), append([]byte{255}, part[1:]...)...), ping(0),
			},
			[]string{"RST_STREAM 1 FLOW_CONTROL_ERROR", "PING ack"},
		},
		"connection": {
			Options{StreamWindow: 1 << 20},
			[][]byte{data(1, make([]byte, h2frame.InitialWindow+1), false)},
			[]string{"GOAWAY 1 FLOW_CONTROL_ERROR", "closed"},
		},
		"of a call that is over": { // the window of the connection is returned nevertheless
			Options{},
			[][]byte{reset(1), data(1, part, false)},
			[]string{"RST_STREAM 1 STREAM_CLOSED", "WINDOW_UPDATE 16384"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, c.options, handlers{"stream": hold}, func(_ *testing.T, _ *Server, p *wirePeer) {
				p.send(begin(1, "stream"))
				p.sendAside(c.frames...)
				p.expect(c.want...)
			})
		})
	}
}

// TestMessageBeyondWindow: a message that is longer than the window of its call arrives, because the handler asks for it.
func TestMessageBeyondWindow(t *testing.T) {
	t.Parallel()
	const size = 100_000
	onBoth(t, Options{ConnWindow: 1 << 20}, handlers{"m": give(0)}, func(_ *testing.T, _ *Server, p *wirePeer) {
		p.send(begin(1, "m"), data(1, []byte{0, 0, size >> 16, size >> 8 & 0xff, size & 0xff}, false))
		p.expect("WINDOW_UPDATE 1 34470") // the rest of the window, and what the prefix took
		for sent := 0; sent < size; sent += 10_000 {
			p.send(data(1, make([]byte, 10_000), sent == size-10_000))
		}
		p.expect("HEADERS 1", "DATA 1 5", "HEADERS 1 end")
	})
}

// TestContextOfStalledCall: what a handler has begun ends with it.
func TestContextOfStalledCall(t *testing.T) {
	t.Parallel()
	var ended bool
	inBubblePeer(t, Options{}, handlers{"m": func(srv any, s grpc.ServerStream) error {
		context.AfterFunc(s.Context(), func() { ended = true })
		return give(100)(srv, s)
	}}, func(t *testing.T, _ *Server, p *wirePeer) {
		p.send(initialWindow(0))
		p.expect("SETTINGS ack")
		p.send(whole(1, "m"))
		p.expect("HEADERS 1", "RST_STREAM 1 CANCEL")
		synctest.Wait()
		require.True(t, ended)
	})
}
