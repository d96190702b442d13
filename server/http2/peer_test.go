package http2

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"

	"triton/pkg/h2frame"
)

// wirePeer is a client that sends what a test says, and reads when the test reads.
type wirePeer struct {
	t    *testing.T
	conn net.Conn
	// bubble: the server is in the bubble of the test.
	bubble bool
	rest   []byte
	buf    [32 << 10]byte
}

// handlers are the methods of the service s. Those whose names begin with "stream" stream in both directions.
type handlers map[string]grpc.StreamHandler

// bytesCodec has messages that are bytes.
type bytesCodec struct{}

func (bytesCodec) Name() string { return "raw" }

func (bytesCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (bytesCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

func newTestServer(o Options, methods handlers) *Server {
	if o.Codec == nil {
		o.Codec = bytesCodec{}
	}
	srv := NewServer(o)
	desc := grpc.ServiceDesc{ServiceName: "s", HandlerType: (*any)(nil)}
	for name, h := range methods {
		streams := strings.HasPrefix(name, "stream")
		desc.Streams = append(desc.Streams, grpc.StreamDesc{StreamName: name, Handler: h, ClientStreams: streams, ServerStreams: streams})
	}
	srv.RegisterService(&desc, nil)
	return srv
}

// inBubblePeer serves one peer over a pipe, in the time of a bubble. All goroutines have ended when it returns.
func inBubblePeer(t *testing.T, o Options, methods handlers, test func(t *testing.T, s *Server, p *wirePeer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		lis, srv := make(pipes, 1), newTestServer(o, methods)
		served := make(chan struct{})
		go func() { defer close(served); _ = srv.Serve(lis) }()
		client, server := net.Pipe()
		lis <- server
		defer func() {
			_ = client.Close()
			srv.Stop()
			<-served
			srv.handlers.Wait()
		}()
		p := &wirePeer{t: t, conn: client, bubble: true}
		p.open()
		test(t, srv, p)
	})
}

// overTCP serves one peer over loopback.
func overTCP(t *testing.T, o Options, methods handlers, test func(t *testing.T, s *Server, p *wirePeer)) {
	t.Helper()
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	srv := newTestServer(o, methods)
	served := make(chan struct{})
	go func() { defer close(served); _ = srv.Serve(lis) }()
	client, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", lis.Addr().String())
	require.NoError(t, err)
	require.NoError(t, client.SetDeadline(time.Now().Add(time.Minute))) // of a test that fails
	defer func() {
		_ = client.Close()
		srv.Stop()
		<-served
		srv.handlers.Wait()
	}()
	p := &wirePeer{t: t, conn: client}
	p.open()
	test(t, srv, p)
}

// onBoth runs a test over a pipe, which a server writes as it does TLS, and over TCP.
func onBoth(t *testing.T, o Options, methods handlers, test func(t *testing.T, s *Server, p *wirePeer)) {
	t.Helper()
	t.Run("pipe", func(t *testing.T) { t.Parallel(); inBubblePeer(t, o, methods, test) })
	t.Run("tcp", func(t *testing.T) { t.Parallel(); overTCP(t, o, methods, test) })
}

// open opens the connection.
func (p *wirePeer) open() {
	p.t.Helper()
	require.Equal(p.t, "SETTINGS", p.next())
	p.send([]byte(http2.ClientPreface), settings())
	for p.next() != "SETTINGS ack" { //nolint:revive // a window, perhaps
	}
}

// write sends frames. It returns false if the server has closed the connection.
func (p *wirePeer) write(frames ...[]byte) bool {
	_, err := p.conn.Write(bytes.Join(frames, nil))
	return err == nil
}

// send sends frames to a server that waits for them.
func (p *wirePeer) send(frames ...[]byte) {
	p.t.Helper()
	if p.bubble {
		synctest.Wait()
	}
	require.True(p.t, p.write(frames...), "the server has closed the connection")
}

// sendAside is send for frames of which the server need not read all, and does not wait.
func (p *wirePeer) sendAside(frames ...[]byte) {
	if p.bubble {
		synctest.Wait()
	}
	go p.write(frames...)
}

// next describes the next frame of the server; "closed": there is none.
func (p *wirePeer) next() string {
	for {
		if h, ok := h2frame.ReadHead(p.rest); ok && len(p.rest) >= h2frame.HeadLen+h.Len {
			b := p.rest[h2frame.HeadLen:][:h.Len]
			p.rest = p.rest[h2frame.HeadLen+h.Len:]
			return describe(h, b)
		}
		n, err := p.conn.Read(p.buf[:])
		p.rest = append(p.rest, p.buf[:n]...)
		if n == 0 && err != nil {
			return "closed"
		}
	}
}

func describe(h h2frame.Head, b []byte) string {
	text := h.Kind.String()
	if h.ID != 0 {
		text += fmt.Sprint(" ", h.ID)
	}
	switch h.Kind {
	case http2.FrameData:
		text += fmt.Sprint(" ", h.Len)
	case http2.FrameRSTStream:
		text += fmt.Sprint(" ", http2.ErrCode(binary.BigEndian.Uint32(b)))
	case http2.FrameWindowUpdate:
		text += fmt.Sprint(" ", binary.BigEndian.Uint32(b))
	case http2.FrameGoAway:
		text += fmt.Sprint(" ", binary.BigEndian.Uint32(b), " ", http2.ErrCode(binary.BigEndian.Uint32(b[4:])))
	}
	end := h.Has(http2.FlagDataEndStream)
	switch h.Kind {
	case http2.FrameSettings, http2.FramePing:
		if end { // the same bit
			text += " ack"
		}
	case http2.FrameData, http2.FrameHeaders:
		if end {
			text += " end"
		}
	}
	return text
}

// expect reads as many frames as it gets.
func (p *wirePeer) expect(want ...string) {
	p.t.Helper()
	var got []string
	for range want {
		got = append(got, p.next())
	}
	require.Equal(p.t, want, got)
}

// expectNothing expects that a ping is answered before anything else.
func (p *wirePeer) expectNothing() {
	p.t.Helper()
	p.send(ping(0))
	p.expect("PING ack")
}

// expectData reads frames of a call with n bytes together.
func (p *wirePeer) expectData(id uint32, n int) {
	p.t.Helper()
	for n > 0 {
		var k int
		text := p.next()
		_, err := fmt.Sscanf(text, fmt.Sprintf("DATA %d %%d", id), &k)
		require.NoError(p.t, err, text)
		n -= k
	}
	require.Zero(p.t, n)
}

// untilClosed reads the last frames of a connection, without pings.
func (p *wirePeer) untilClosed() (last []string) {
	for {
		text := p.next()
		if text == "closed" {
			return slices.DeleteFunc(last, func(text string) bool { return strings.HasPrefix(text, "PING") })
		}
		last = append(last, text)
	}
}

func settings(values ...http2.Setting) []byte {
	b := h2frame.AppendHead(nil, len(values)*h2frame.SettingLen, http2.FrameSettings, 0, 0)
	for _, s := range values {
		b = h2frame.AppendSetting(b, s.ID, s.Val)
	}
	return b
}

func initialWindow(n uint32) []byte {
	return settings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: n})
}

func ping(flags http2.Flags) []byte { return h2frame.AppendPing(nil, flags, [8]byte{1}) }

func update(id uint32, n int) []byte { return h2frame.AppendWindowUpdate(nil, id, n) }

func reset(id uint32) []byte { return h2frame.AppendReset(nil, id, http2.ErrCodeCancel) }

// begin returns the header list of a call of a method.
func begin(id uint32, method string, more ...[2]string) []byte {
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	fields := [][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", "/s/" + method}, {":authority", "a"}, {"content-type", contentType}, {"te", "trailers"}}
	for _, f := range append(fields, more...) {
		_ = e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1], Sensitive: true}) // leaves the table as it is
	}
	return h2frame.AppendBlock(nil, block.Bytes(), id, false, h2frame.SmallestMax)
}

func data(id uint32, b []byte, end bool) []byte {
	flags := http2.Flags(0)
	if end {
		flags = http2.FlagDataEndStream
	}
	return append(h2frame.AppendHead(nil, len(b), http2.FrameData, flags, id), b...)
}

// whole returns the frames of a call with an empty message.
func whole(id uint32, method string) []byte {
	return append(begin(id, method), data(id, make([]byte, prefixLen), true)...)
}

// give answers a call with n bytes.
func give(n int) grpc.StreamHandler {
	return func(_ any, s grpc.ServerStream) error {
		var m []byte
		if err := s.RecvMsg(&m); err != nil {
			return err
		}
		return s.SendMsg(make([]byte, n))
	}
}

// hold reads nothing and returns when the call has ended.
func hold(_ any, s grpc.ServerStream) error {
	<-s.Context().Done()
	return s.Context().Err()
}
