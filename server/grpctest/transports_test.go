package grpctest_test

import (
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"triton/server/http2"
)

// transport is a gRPC server.
type transport interface {
	grpc.ServiceRegistrar
	Serve(lis net.Listener) error
	GracefulStop()
	Stop()
}

// The limits of both transports in these tests.
const (
	oracleStreams    = 16
	oracleHeaderList = 8 << 10
	oracleWindow     = 64 << 10 // of a stream and of a connection
)

// transports are the servers that must behave alike. The first is the oracle.
var transports = []struct {
	name string
	make func() transport
}{
	{"grpc-go", func() transport { return grpc.NewServer(oracleOptions()...) }},
	{"builtin", func() transport { return http2.NewServer(builtinOptions()) }},
}

// builtinOptions are those of our own transport.
func builtinOptions() http2.Options {
	return http2.Options{
		MaxStreams: oracleStreams, MaxHeaderList: oracleHeaderList, StreamWindow: oracleWindow, ConnWindow: oracleWindow,
		Enforcement: keepalive.EnforcementPolicy{MinTime: time.Nanosecond, PermitWithoutStream: true},
	}
}

// oracleOptions are grpc-go's.
func oracleOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxConcurrentStreams(oracleStreams),
		grpc.MaxHeaderListSize(oracleHeaderList),
		grpc.StaticStreamWindowSize(oracleWindow),
		grpc.StaticConnWindowSize(oracleWindow),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Nanosecond, PermitWithoutStream: true}),
	}
}

// pipeListener is a listener whose connections are pipes in memory.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func newPipeListener() *pipeListener {
	return &pipeListener{make(chan net.Conn), make(chan struct{})}
}

// Dial returns a connection to the server.
func (l *pipeListener) Dial() net.Conn {
	client, server := net.Pipe()
	l.conns <- server
	return client
}

// Accept returns the server's end of the next connection.
func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (l *pipeListener) Close() error {
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
	return nil
}

// Addr returns a name.
func (*pipeListener) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }
