package h2

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"triton/pkg/h2frame"
)

// TestHeads: each request of a connection has the same fields, whatever table the server has.
func TestHeads(t *testing.T) {
	for name, settings := range map[string][]http2.Setting{
		"table": nil, "no table": {{ID: http2.SettingHeaderTableSize, Val: 0}}, "small table": {{ID: http2.SettingHeaderTableSize, Val: 100}},
	} {
		t.Run(name, func(t *testing.T) {
			got := make(chan map[string]string, 8)
			address := play(t, func(p *peer) {
				_ = p.WriteSettings(settings...)
				for range 4 {
					f := p.next()
					if f == nil {
						return
					}
					got <- p.fields(f)
					p.answer(p.request(), "x")
				}
				p.wait()
			})
			conn, call := open(t, address), NewCall()
			for range 4 {
				response, err := unary(conn, call, "hello")
				require.NoError(t, err)
				require.Equal(t, "x", response)
				require.Equal(t, map[string]string{":method": "POST", ":scheme": "http", ":path": "/s/m", ":authority": "h", "content-type": "application/grpc", "te": "trailers"}, <-got)
			}
		})
	}
}

// TestLongHeads: a header list of several frames, and a table that has no room for it.
func TestLongHeads(t *testing.T) {
	long := strings.Repeat("v", 40000)
	head := NewHead([]Field{{":method", "POST"}, {"k", long}})
	got := make(chan string, 1)
	address := play(t, func(p *peer) {
		_ = p.WriteSettings()
		for range 2 {
			p.SetMaxReadFrameSize(1 << 20)
			var block []byte
			var id uint32
			for end := false; !end; {
				switch f := p.next().(type) {
				case *http2.HeadersFrame:
					block, end, id = append(block, f.HeaderBlockFragment()...), f.HeadersEnded(), f.StreamID
				case *http2.ContinuationFrame:
					block, end = append(block, f.HeaderBlockFragment()...), f.HeadersEnded()
				case nil:
					return
				}
			}
			list, _ := p.dec.DecodeFull(block)
			got <- list[1].Value
			_ = p.request()
			p.answer(id, "x")
		}
	})
	conn, call := open(t, address), NewCall()
	for range 2 {
		require.NoError(t, call.Start(conn, &Request{Head: head, Timeout: time.Hour}, Outgoing{Parts: [][]byte{{1}}, Last: true}))
		require.Equal(t, long, <-got)
		for !call.Ended() {
			call.Wait()
		}
		require.NoError(t, call.Err())
	}
}

// TestWindows: a request never exceeds the windows, which the server opens a little at a time and even makes
// smaller, and arrives whole.
func TestWindows(t *testing.T) {
	message := make([]byte, 200<<10)
	for i := range message {
		message[i] = byte(i * 7)
	}
	got := make(chan []byte, 1)
	address := play(t, func(p *peer) {
		_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10})
		var body []byte
		window, conn := 10, h2frame.InitialWindow
		for {
			switch f := p.next().(type) {
			case nil:
				return
			case *http2.HeadersFrame:
				_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1000})
				window += 990
			case *http2.DataFrame:
				body = append(body, f.Data()...)
				if window, conn = window-len(f.Data()), conn-len(f.Data()); window < 0 || conn < 0 {
					t.Errorf("windows of %d and %d", window, conn)
				}
				if f.StreamEnded() {
					got <- body
					p.answer(f.StreamID, "done")
					continue
				}
				if window == 0 {
					_ = p.WriteWindowUpdate(f.StreamID, 3001)
					window += 3001
				}
				if conn < 3001 {
					_ = p.WriteWindowUpdate(0, 5003)
					conn += 5003
				}
			}
		}
	})
	conn := open(t, address)
	response, err := unary(conn, NewCall(), string(message))
	require.NoError(t, err)
	require.Equal(t, "done", response)
	require.Equal(t, append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...), <-got)
}

// TestConcurrencyOfTheServer: calls wait while the server has as many as it allows.
func TestConcurrencyOfTheServer(t *testing.T) {
	address := play(t, func(p *peer) {
		_ = p.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1})
		last := uint32(0)
		for id := p.request(); id != 0; id = p.request() {
			if id <= last {
				t.Errorf("stream %d after %d", id, last)
			}
			last = id
			p.answer(id, "x")
		}
	})
	conn := open(t, address)
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			call := NewCall()
			for range 50 {
				if _, err := unary(conn, call, "hello"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// TestGoodbye: a server that ends lets calls end, and gets no others.
func TestGoodbye(t *testing.T) {
	address := play(t, func(p *peer) {
		_ = p.WriteSettings()
		id := p.request()
		_ = p.WriteGoAway(h2frame.MaxWindow, http2.ErrCodeNo, nil)
		_ = p.WriteGoAway(id, http2.ErrCodeNo, nil)
		p.answer(id, "last")
		p.wait()
	})
	conn := open(t, address)
	response, err := unary(conn, NewCall(), "hello")
	require.NoError(t, err)
	require.Equal(t, "last", response)
	require.False(t, conn.Usable())
	require.True(t, conn.Ended(), "no call needs it any more")
	_, err = unary(conn, NewCall(), "hello")
	require.ErrorIs(t, err, ErrUnprocessed)
}

// TestEarlyEnd: a server that answers before it has the request gets no more of it.
func TestEarlyEnd(t *testing.T) {
	reset := make(chan http2.ErrCode, 1)
	address := play(t, func(p *peer) {
		_ = p.WriteSettings()
		for {
			switch f := p.next().(type) {
			case nil:
				return
			case *http2.HeadersFrame:
				p.headers(f.StreamID, true, ":status", "200", "content-type", "application/grpc", "grpc-status", "8", "grpc-message", "full")
			case *http2.RSTStreamFrame:
				reset <- f.ErrCode
			}
		}
	})
	conn := open(t, address)
	_, err := unary(conn, NewCall(), strings.Repeat("x", 1<<20))
	require.Equal(t, "full", grpcstatus.Convert(err).Message())
	require.Equal(t, http2.ErrCodeNo, <-reset)
}

// TestInterrupt: a call that is interrupted ends at once and is canceled on the server; the connection goes on.
func TestInterrupt(t *testing.T) {
	reset := make(chan http2.ErrCode, 1)
	address := play(t, func(p *peer) {
		_ = p.WriteSettings()
		p.request()
		f := p.next()
		reset <- f.(*http2.RSTStreamFrame).ErrCode //nolint:forcetypeassert // a test
		p.answer(p.request(), "x")
		p.wait()
	})
	conn, call := open(t, address), NewCall()
	require.NoError(t, call.Start(conn, &Request{Head: testHead}, Outgoing{Parts: [][]byte{{1}}, Last: true}))
	go call.Interrupt()
	for !call.Ended() {
		call.Wait()
	}
	require.Error(t, call.Err())
	require.Equal(t, http2.ErrCodeCancel, <-reset)
	_, err := unary(conn, call, "hello")
	require.ErrorIs(t, err, errInterrupted)
	call.Resume()
	_, err = unary(conn, call, "hello")
	require.NoError(t, err)
}

// TestServerThatDoesNotRead: a request that the server does not read is interrupted, and so is Close.
func TestServerThatDoesNotRead(t *testing.T) {
	blocked := make(chan struct{})
	address := play(t, func(p *peer) {
		_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 30})
		_ = p.WriteWindowUpdate(0, 1<<30)
		<-blocked
	})
	defer close(blocked)
	conn, call := open(t, address), NewCall()
	message := make([]byte, 64<<20)
	require.NoError(t, call.Start(conn, &Request{Head: testHead}, Outgoing{Parts: [][]byte{message}, Last: true}))
	for call.Pump() {
	}
	go call.Interrupt()
	for !call.Ended() {
		call.Wait()
		call.Pump()
	}
	require.ErrorIs(t, call.Err(), errInterrupted)
}

// TestPingBehindLongMessages: messages that wait for a server that allows long frames are no answers to its pings.
func TestPingBehindLongMessages(t *testing.T) {
	queued := make(chan struct{})
	goOn := sync.OnceFunc(func() { close(queued) })
	defer goOn()
	address := play(t, func(p *peer) {
		_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 30}, http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1<<24 - 1})
		_ = p.WriteWindowUpdate(0, 1<<30)
		<-queued
		p.SetMaxReadFrameSize(1<<24 - 1)
		for range 100 {
			_ = p.WritePing(false, [8]byte{})
		}
		for range 2 {
			p.answer(p.request(), "done")
		}
	})
	conn := open(t, address)
	message := make([]byte, 16<<20) // more than sockets keep
	var calls [2]*Call
	for i := range calls {
		calls[i] = NewCall()
		require.NoError(t, calls[i].Start(conn, &Request{Head: testHead}, Outgoing{Parts: [][]byte{message}, Last: true}))
	}
	require.LessOrEqual(t, func() int { conn.mu.Lock(); defer conn.mu.Unlock(); return len(conn.out) }(), maxControl/2)
	goOn()
	for _, call := range calls {
		for !call.Ended() {
			if call.Pump() && !call.Ended() {
				call.Wait()
			}
		}
		require.NoError(t, call.Err())
	}
}

// TestPings are answered, and more of them than the client can answer end the connection.
func TestPings(t *testing.T) {
	address := play(t, func(p *peer) {
		_ = p.WriteSettings()
		id := p.request()
		_ = p.WritePing(false, [8]byte{1, 2, 3})
		for {
			f, err := p.ReadFrame()
			if err != nil {
				return
			}
			if ping, ok := f.(*http2.PingFrame); ok {
				p.answer(id, string(ping.Data[:3]))
			}
		}
	})
	response, err := unary(open(t, address), NewCall(), "hello")
	require.NoError(t, err)
	require.Equal(t, "\x01\x02\x03", response)

	address = play(t, func(p *peer) {
		_ = p.WriteSettings()
		for p.WritePing(false, [8]byte{}) == nil {
		}
	})
	conn := open(t, address)
	_, err = unary(conn, NewCall(), "hello")
	require.ErrorContains(t, err, "does not read the answers")
}

// TestServersThatDoNotGreet: what does not speak HTTP/2 is told from what says nothing.
func TestServersThatDoNotGreet(t *testing.T) {
	for answer, want := range map[string]string{
		"HTTP/1.1 400 Bad Request\r\n\r\n":     "looked like an HTTP/1.1 header",
		"SSH-2.0-x and more":                   "the first frame is",
		"\x00\x00\x08\x06\x00\x00\x00\x00\x00": "the first frame is PING of 8 bytes, not SETTINGS",
		"":                                     "error reading server preface: ",
	} {
		address := play(t, func(p *peer) { _, _ = io.WriteString(p.conn, answer) })
		_, err := tryOpen(t, address)
		require.Equal(t, codes.Unavailable, grpcstatus.Code(err))
		require.ErrorContains(t, err, want)
	}
	address := play(t, (*peer).wait)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := Open(ctx, func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", address)
	}, now)
	require.ErrorContains(t, err, "error reading server preface")
}

// TestPiecesOfFrames: frames may come in any pieces, with padding, priorities and unknown types.
func TestPiecesOfFrames(t *testing.T) {
	address := play(t, func(p *peer) {
		_ = p.WriteSettings()
		id := p.request()
		real := p.conn
		a, b := net.Pipe()
		p.Framer = http2.NewFramer(a, a)
		go func() {
			p.headers(id, false, ":status", "103")
			p.begin(id)
			_ = p.WritePriority(id, http2.PriorityParam{StreamDep: 3})
			_ = p.WriteRawFrame(0xee, 0, 77, []byte("unknown"))
			for _, c := range framed("message") {
				_ = p.WriteDataPadded(id, false, []byte{c}, make([]byte, 7))
			}
			_ = p.WriteData(id, false, nil)
			p.headers(id, true, "grpc-status", "0")
			_ = a.Close()
		}()
		piece := make([]byte, 1)
		for {
			if _, err := b.Read(piece); err != nil {
				break
			}
			_, _ = real.Write(piece)
		}
		_, _ = io.Copy(io.Discard, real)
	})
	response, err := unary(open(t, address), NewCall(), "hello")
	require.NoError(t, err)
	require.Equal(t, "message", response)
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-1: "1n", 5: "5n", 99999999: "99999999n", time.Second: "1000000u", time.Hour: "3600000m", 1000 * time.Hour: "3600000S", 1 << 62: "76861434M",
	} {
		b := appendTimeout(nil, d)
		require.Equal(t, want, string(b[len(b)-len(want):]), d)
	}
}

// FuzzServer: whatever a server sends, the connection ends or goes on, and nothing panics or grows without end.
func FuzzServer(f *testing.F) {
	f.Add([]byte{0, 0, 0, 4, 0, 0, 0, 0, 0})
	f.Add([]byte{0, 0, 1, 1, 5, 0, 0, 0, 1, 0x88, 0, 0, 0, 4, 1, 0, 0, 0, 0})
	f.Add([]byte{0, 0, 7, 0, 9, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		here, there := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, there) }()
		go func() {
			_, _ = there.Write([]byte{0, 0, 0, 4, 0, 0, 0, 0, 0})
			_, _ = there.Write(b)
			_ = there.Close()
		}()
		conn, err := Open(t.Context(), func(context.Context) (net.Conn, error) { return here, nil }, now)
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = unary(conn, NewCall(), "hello")
	})
}
