package h2

import (
	"context"
	"encoding/binary"
	"errors"
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
		window, conn := 10, initialWindow
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

// script is what a server does with a request, and the error of the call.
type script struct {
	name  string
	serve func(p *peer, id uint32)
	code  codes.Code
	text  string
}

func scripts() []script {
	headers := func(end bool, fields ...string) func(*peer, uint32) {
		return func(p *peer, id uint32) { p.headers(id, end, fields...) }
	}
	ok := []string{":status", "200", "content-type", "application/grpc"}
	with := func(fields ...string) []string { return append(append([]string(nil), ok...), fields...) }
	data := func(b []byte, end bool) func(*peer, uint32) {
		return func(p *peer, id uint32) {
			p.begin(id)
			_ = p.WriteData(id, end, b)
			if !end {
				p.headers(id, true, "grpc-status", "0")
			}
		}
	}
	raw := func(b ...byte) func(*peer, uint32) { return func(p *peer, _ uint32) { _, _ = p.conn.Write(b) } }
	const violated = "the server violated HTTP/2: "
	return []script{
		{"trailers only", headers(true, with("grpc-status", "3", "grpc-message", "50%25 of %zz")...), codes.InvalidArgument, "50% of %zz"},
		{"no status", headers(true, ok...), codes.Unknown, ""},
		{"malformed status", headers(true, with("grpc-status", "x")...), codes.Unknown, `transport: malformed grpc-status: strconv.ParseInt: parsing "x": invalid syntax`},
		{"not gRPC", headers(true, ":status", "404"), codes.Unimplemented, "unexpected HTTP status code received from server: 404 (Not Found); malformed header: missing HTTP content-type"},
		{"no HTTP status", headers(true, "x", "y"), codes.Internal, "malformed header: missing HTTP status; malformed header: missing HTTP content-type"},
		{"page", func(p *peer, id uint32) {
			p.headers(id, false, ":status", "503", "content-type", "text/html")
			_ = p.WriteData(id, true, []byte("busy"))
		}, codes.Unavailable, "unexpected HTTP status code received from server: 503 (Service Unavailable); transport: received unexpected content-type \"text/html\"\ndata: \"busy\""},
		{"long page", func(p *peer, id uint32) {
			p.headers(id, false, ":status", "500", "content-type", "text/html")
			_ = p.WriteData(id, false, make([]byte, 2000))
		}, codes.Unknown, "unexpected HTTP status code received from server: 500"},
		{"no message", headers(true, with("grpc-status", "0")...), codes.Internal, "cardinality violation: received no response message from non-server-streaming RPC"},
		{"two messages", data(append(framed("a"), framed("b")...), false), codes.Internal, "cardinality violation: expected <EOF> for non server-streaming RPCs, but received another message"},
		{"half a message", data(framed("abc")[:6], false), codes.Internal, "unexpected EOF"},
		{"no trailers", data(framed("abc"), true), codes.Internal, "server closed the stream without sending trailers"},
		{"compressed without an encoding", data(append([]byte{1}, framed("a")[1:]...), false), codes.Internal, "grpc: compressed flag set with identity or empty encoding"},
		{"unknown format", data(append([]byte{2}, framed("a")[1:]...), false), codes.Internal, "grpc: received unexpected payload format 2"},
		{"huge message", data([]byte{0, 255, 255, 255, 255}, false), codes.ResourceExhausted, "grpc: received message larger than max (4294967295 vs. 2147483647)"},
		{"data first", func(p *peer, id uint32) { _ = p.WriteData(id, true, framed("a")) }, codes.Internal, "the server sent DATA before HEADERS"},
		{"headers twice", func(p *peer, id uint32) { p.begin(id); p.begin(id) }, codes.Internal, "a HEADERS frame cannot appear in the middle of a stream"},
		{"reset", func(p *peer, id uint32) { _ = p.WriteRSTStream(id, http2.ErrCodeInternal) }, codes.Internal, "stream terminated by RST_STREAM with error code: INTERNAL_ERROR"},
		{"refused", func(p *peer, id uint32) { _ = p.WriteRSTStream(id, http2.ErrCodeRefusedStream) }, codes.Unavailable, "stream terminated by RST_STREAM with error code: REFUSED_STREAM"},
		{"hangs up", func(p *peer, _ uint32) { _ = p.conn.Close() }, codes.Unavailable, `connection error: desc = "error reading from server: EOF"`},
		{"goes away", func(p *peer, _ uint32) {
			_ = p.WriteGoAway(maxWindow, http2.ErrCodeEnhanceYourCalm, []byte("too much"))
			_ = p.conn.Close()
		}, codes.Unavailable, `closing transport due to: connection error: desc = "error reading from server: EOF", received prior goaway: code: ENHANCE_YOUR_CALM, debug data: "too much"`},
		{"unprocessed", func(p *peer, _ uint32) { _ = p.WriteGoAway(0, http2.ErrCodeNo, nil) }, codes.Unavailable, "the stream is rejected because server is draining the connection"},
		{"stream window overflows", func(p *peer, id uint32) {
			for range 2 {
				_ = p.WriteWindowUpdate(id, maxWindow)
			}
		}, codes.Internal, violated + "WINDOW_UPDATE by 2147483647"},
		{"window overflows", func(p *peer, _ uint32) {
			for range 2 {
				_ = p.WriteWindowUpdate(0, maxWindow)
			}
		}, codes.Unavailable, violated + "FLOW_CONTROL_ERROR"},
		{"long frame", raw(0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1), codes.Unavailable, violated + "FRAME_SIZE_ERROR: a frame has 16777215 bytes"},
		{"push", raw(0, 0, 4, 5, 4, 0, 0, 0, 1, 0, 0, 0, 2), codes.Unavailable, violated + "PROTOCOL_ERROR: PUSH_PROMISE"},
		{"stray continuation", raw(0, 0, 0, 9, 4, 0, 0, 0, 1), codes.Unavailable, violated + "PROTOCOL_ERROR: CONTINUATION without HEADERS"},
		{"interrupted headers", raw(0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1), codes.Unavailable, violated + "PROTOCOL_ERROR: DATA within a header list"},
		{"idle stream", raw(0, 0, 0, 0, 0, 0, 0, 0, 99), codes.Unavailable, violated + "PROTOCOL_ERROR: DATA of stream 99, which has not begun"},
		{"padding", raw(0, 0, 1, 0, 8, 0, 0, 0, 1, 9), codes.Unavailable, violated + "PROTOCOL_ERROR: DATA is shorter than its padding"},
		{"bad HPACK", raw(0, 0, 1, 1, 4, 0, 0, 0, 1, 0xff), codes.Unavailable, violated + "COMPRESSION_ERROR"},
		{"bad ping", raw(0, 0, 1, 6, 0, 0, 0, 0, 0, 1), codes.Unavailable, violated + "FRAME_SIZE_ERROR: PING of 1 bytes"},
		{"bad settings", raw(0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 1), codes.Unavailable, violated + "PROTOCOL_ERROR: MAX_FRAME_SIZE is 1"},
		{"continuations without end", func(p *peer, id uint32) {
			_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: id})
			for range 100 {
				_ = p.WriteContinuation(id, false, nil)
			}
		}, codes.Unavailable, violated + "ENHANCE_YOUR_CALM: a header list has 0 bytes"},
		{"too many data", func(p *peer, id uint32) {
			p.begin(id)
			_ = p.WriteData(id, false, []byte{0, 0x7f, 0, 0, 0})
			for range connWindow / smallestFrame {
				if p.WriteDataPadded(id, false, make([]byte, smallestFrame-256), make([]byte, 255)) != nil {
					return
				}
			}
			_ = p.conn.Close()
		}, codes.Unavailable, ""},
	}
}

// TestServersThatAreBroken: each call ends with an error that says why.
func TestServersThatAreBroken(t *testing.T) {
	for _, s := range scripts() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			address := play(t, func(p *peer) {
				_ = p.WriteSettings()
				s.serve(p, p.request())
				p.wait()
			})
			conn := open(t, address)
			_, err := unary(conn, NewCall(), "hello")
			require.Equal(t, s.code, grpcstatus.Code(err), "%v", err)
			require.Contains(t, grpcstatus.Convert(err).Message(), s.text)
			unsent := s.name == "refused" || s.name == "unprocessed"
			require.Equal(t, unsent, errors.Is(err, ErrUnprocessed))
		})
	}
}

// TestGoodbye: a server that ends lets calls end, and gets no others.
func TestGoodbye(t *testing.T) {
	address := play(t, func(p *peer) {
		_ = p.WriteSettings()
		id := p.request()
		_ = p.WriteGoAway(maxWindow, http2.ErrCodeNo, nil)
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
