package server

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"triton/server/http1"
	"triton/server/httpapi"
)

// onePort serves HTTP, gRPC and gRPC-Web at one port. The connections begin as those of HTTP; those whose clients
// speak HTTP/2 are given to the frontend of gRPC, which answers their other requests as those over HTTP/1.
type onePort struct {
	http  *httpFrontend
	grpc  *grpcFrontend
	given *givenConns
}

func (s *Server) newOnePort(l net.Listener, config *tls.Config) (portServer, error) {
	given := &givenConns{addr: l.Addr(), conns: make(chan http1.HTTP2Conn), closed: make(chan struct{})}
	var requests http.Handler
	grpc, err := s.newGRPCFrontend(given, openedTLS{insecure.NewCredentials()},
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { requests.ServeHTTP(w, r) }))
	if err != nil {
		return nil, err
	}
	web, ok := grpc.server.(interface {
		Web(next http1.Handler, origins []string) http1.Handler
	})
	if !ok {
		return nil, errors.New("this gRPC transport has no gRPC-Web")
	}
	handler := web.Web(httpapi.New(s.service, s.dataOptions()), s.opts.HTTP.Origins)
	o := s.connectionOptions()
	requests = http1.NewHTTPHandler(handler, o)
	o.HTTP2 = given.give
	s.addrs.HTTP, s.addrs.GRPC = l.Addr().String(), l.Addr().String()
	s.opts.Log.Info("Started GRPCInferenceService at " + l.Addr().String())
	return &onePort{
		http: &httpFrontend{
			title: "HTTP and GRPC", connectionNoun: "HTTP service connections",
			server: http1.NewServer(handler, o), lis: withTLS(&drainingListener{Listener: l}, config),
		},
		grpc: grpc, given: given,
	}, nil
}

func (p *onePort) name() string { return p.http.name() }

func (p *onePort) serve() error {
	done := make(chan error, 1)
	go func() { done <- p.grpc.serve() }()
	err := p.http.serve()
	if err != nil {
		_ = p.given.Close()
	}
	return errors.Join(err, <-done)
}

func (p *onePort) leave() { p.http.leave() }

// drain first waits until the new connections have shown whether they speak HTTP/2.
func (p *onePort) drain(ctx context.Context) {
	var http sync.WaitGroup
	http.Go(func() { p.http.drain(ctx) })
	opening, cancel := context.WithTimeout(ctx, handshakeGrace)
	defer cancel()
	p.http.server.AwaitOpened(opening)
	p.grpc.drain(ctx)
	http.Wait()
}

func (p *onePort) close(ctx context.Context) { p.http.close(ctx) }

func (p *onePort) waiting() (int64, string) {
	n, _ := p.http.waiting()
	more, _ := p.grpc.waiting()
	return n + more, "HTTP and GRPC service connections"
}

// givenConns is the listener of gRPC: it accepts the connections that the HTTP server gives away.
type givenConns struct {
	addr   net.Addr
	conns  chan http1.HTTP2Conn
	closed chan struct{}
	once   sync.Once
}

// give gives a connection to whoever accepts. When nobody does any more, it is closed.
func (g *givenConns) give(c http1.HTTP2Conn) {
	select {
	case g.conns <- c:
	case <-g.closed:
		c.Use.Close()
		_ = c.Close()
	}
}

// Accept implements net.Listener.
func (g *givenConns) Accept() (net.Conn, error) {
	select {
	case c := <-g.conns:
		return c, nil
	case <-g.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (g *givenConns) Close() error {
	g.once.Do(func() { close(g.closed) })
	return nil
}

// Addr implements net.Listener.
func (g *givenConns) Addr() net.Addr { return g.addr }

// openedTLS are the credentials of connections whose handshake the HTTP server has made.
type openedTLS struct {
	credentials.TransportCredentials
}

// ServerHandshake implements credentials.TransportCredentials.
func (o openedTLS) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	state := http1.TLSState(raw)
	if state == nil {
		return o.TransportCredentials.ServerHandshake(raw)
	}
	info := credentials.TLSInfo{State: *state, CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}}
	return encrypted{raw}, info, nil
}

// Clone implements credentials.TransportCredentials.
func (o openedTLS) Clone() credentials.TransportCredentials { return o }

// encrypted hides the socket below a connection with TLS, which must not be written to.
type encrypted struct{ net.Conn }
