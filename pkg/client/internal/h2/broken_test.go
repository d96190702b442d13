package h2

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"triton/pkg/h2frame"
)

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
			_ = p.WriteGoAway(h2frame.MaxWindow, http2.ErrCodeEnhanceYourCalm, []byte("too much"))
			_ = p.conn.Close()
		}, codes.Unavailable, `closing transport due to: connection error: desc = "error reading from server: EOF", received prior goaway: code: ENHANCE_YOUR_CALM, debug data: "too much"`},
		{"unprocessed", func(p *peer, _ uint32) { _ = p.WriteGoAway(0, http2.ErrCodeNo, nil) }, codes.Unavailable, "the stream is rejected because server is draining the connection"},
		{"stream window overflows", func(p *peer, id uint32) {
			for range 2 {
				_ = p.WriteWindowUpdate(id, h2frame.MaxWindow)
			}
		}, codes.Internal, violated + "WINDOW_UPDATE by 2147483647"},
		{"window overflows", func(p *peer, _ uint32) {
			for range 2 {
				_ = p.WriteWindowUpdate(0, h2frame.MaxWindow)
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
			for range connWindow / h2frame.SmallestMax {
				if p.WriteDataPadded(id, false, make([]byte, h2frame.SmallestMax-256), make([]byte, 255)) != nil {
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
