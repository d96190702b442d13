package grpcapi

import (
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/reflection"

	"triton/pkg/kserve/rpc"
	"triton/server/http2"
)

// Transport is --grpc-transport: what serves the connections.
type Transport uint8

// The transports.
const (
	TransportGRPC    Transport = iota // grpc-go
	TransportBuiltin                  // server/http2
)

// String returns the value of --grpc-transport.
func (t Transport) String() string {
	if t == TransportBuiltin {
		return "builtin"
	}
	return "grpc-go"
}

// Server serves calls over a transport. A *grpc.Server is one.
type Server interface {
	reflection.GRPCServer
	// Serve accepts connections until Stop or GracefulStop.
	Serve(lis net.Listener) error
	// GracefulStop returns when all calls have ended.
	GracefulStop()
	// Stop ends all calls.
	Stop()
}

// NewServer returns a server without services on the transport of the options.
func NewServer(o Options) Server {
	if o.Transport == TransportBuiltin {
		return http2.NewServer(TransportOptions(o))
	}
	return grpc.NewServer(ServerOptions(o)...)
}

// TransportOptions returns the options for http2.NewServer, including the codec.
func TransportOptions(o Options) http2.Options {
	return http2.Options{
		Log:           o.Log,
		Credentials:   newBudgetCredentials(&o, false),
		Codec:         rpc.NewCodec(o.Pool),
		Stream:        newAdmin(&o).stream,
		HTTP:          o.HTTP,
		Buffers:       &framePool{},
		MaxStreams:    o.MaxConcurrentStream,
		MaxHeaderList: o.MaxHeaderList,
		MaxReceive:    o.MaxReceive,
		StreamWindow:  o.StreamWindow,
		ConnWindow:    o.ConnWindow,
		Workers:       int(o.Workers),
		Keepalive:     o.keepalive(),
		Enforcement:   o.enforcement(),
	}
}
