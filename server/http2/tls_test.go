package http2

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"google.golang.org/grpc/credentials"

	"triton/pkg/h2frame"
)

// certificates returns the configurations of a server and of its clients.
func certificates() (server, client *tls.Config) {
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return &tls.Config{Certificates: s.TLS.Certificates, MinVersion: tls.VersionTLS12}, //nolint:gosec // of a test
		&tls.Config{RootCAs: roots, ServerName: "example.com", NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12}
}

// listener hides that connections are of TCP, as those of the server that counts them.
type hiding struct{ net.Listener }

type hidden struct{ net.Conn }

func (h hidden) NetConn() net.Conn { return h.Conn }

func (l hiding) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return hidden{c}, nil
}

// serveTLS serves on loopback, and returns the address and the configuration of clients.
func serveTLS(t *testing.T, o Options, methods handlers) (*Server, string, *tls.Config) {
	t.Helper()
	server, client := certificates()
	o.Credentials = credentials.NewTLS(server)
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	srv := newTestServer(o, methods)
	served := make(chan struct{})
	go func() { defer close(served); _ = srv.Serve(hiding{lis}) }()
	t.Cleanup(func() {
		srv.Stop()
		<-served
		srv.handlers.Wait()
	})
	return srv, lis.Addr().String(), client
}

func overTLS(t *testing.T, o Options, methods handlers, test func(t *testing.T, s *Server, p *wirePeer)) {
	t.Helper()
	srv, at, config := serveTLS(t, o, methods)
	conn, err := (&tls.Dialer{Config: config}).DialContext(t.Context(), "tcp", at)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	p := &wirePeer{t: t, conn: conn}
	p.open()
	test(t, srv, p)
}

// TestTLS: calls of all sizes, and the protocol that was agreed on.
func TestTLS(t *testing.T) {
	t.Parallel()
	overTLS(t, Options{}, handlers{"m": give(10), "long": give(1 << 20)}, func(t *testing.T, _ *Server, p *wirePeer) {
		require.Equal(t, "h2", p.conn.(*tls.Conn).ConnectionState().NegotiatedProtocol)
		p.send(initialWindow(2<<20), update(0, 2<<20))
		p.expect("SETTINGS ack")
		p.send(whole(1, "m"))
		p.expect("HEADERS 1", "DATA 1 15", "HEADERS 1 end")
		p.send(whole(3, "long"))
		p.expect("HEADERS 3")
		p.expectData(3, 1<<20+prefixLen)
		p.expect("HEADERS 3 end")
	})
}

// TestOtherProtocols: a client that does not ask for HTTP/2 in its handshake is refused.
func TestOtherProtocols(t *testing.T) {
	t.Parallel()
	_, at, config := serveTLS(t, Options{}, nil)
	for name, protocols := range map[string][]string{"none": nil, "HTTP/1.1": {"http/1.1"}} {
		config := config.Clone()
		config.NextProtos = protocols
		conn, err := (&tls.Dialer{Config: config}).DialContext(t.Context(), "tcp", at)
		if err != nil {
			continue // in the handshake
		}
		require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
		_, err = io.Copy(io.Discard, conn)
		require.NotErrorIs(t, err, io.ErrNoProgress, name)
		require.False(t, errors.Is(err, net.ErrClosed) || isTimeout(err), "%s: %v", name, err)
		_ = conn.Close()
	}
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

// TestLastFrames: a client that is still sending reads what the server sent before it ended the connection, and then
// the end, and no reset.
func TestLastFrames(t *testing.T) {
	t.Parallel()
	var rest []byte // more than the buffers of both sides, in frames that mean nothing
	for len(rest) < 4<<20 {
		rest = append(h2frame.AppendHead(rest, 16<<10, 0xbe, 0, 0), make([]byte, 16<<10)...)
	}
	for name, c := range map[string]struct {
		drains bool
		first  []byte
		last   string
	}{
		"mistake": {false, update(0, 0), "GOAWAY 0 PROTOCOL_ERROR"},
		"drain":   {true, drainAnswer(), "GOAWAY 0 NO_ERROR"},
	} {
		test := func(t *testing.T, s *Server, p *wirePeer) {
			if c.drains {
				go s.GracefulStop()
				p.expect(drainBegins, drainPinged)
			}
			p.sendAside(c.first, rest)
			require.Equal(t, []string{c.last}, p.untilClosed())
			_, err := p.conn.Read(make([]byte, 1))
			require.ErrorIs(t, err, io.EOF)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Run("tcp", func(t *testing.T) { t.Parallel(); overTCP(t, Options{}, nil, test) })
			t.Run("tls", func(t *testing.T) { t.Parallel(); overTLS(t, Options{}, nil, test) })
		})
	}
}

// TestNoHTTP2: who does not speak HTTP/2 reads the end, and no reset.
func TestNoHTTP2(t *testing.T) {
	t.Parallel()
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	srv := newTestServer(Options{}, nil)
	served := make(chan struct{})
	go func() { defer close(served); _ = srv.Serve(lis) }()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", lis.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	require.NoError(t, err)
	got, err := io.ReadAll(conn)
	require.NoError(t, err)
	h, ok := h2frame.ReadHead(got)
	require.True(t, ok)
	require.Equal(t, http2.FrameSettings, h.Kind)
	srv.Stop()
	<-served
}
