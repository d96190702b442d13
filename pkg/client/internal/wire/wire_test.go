package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"triton/pkg/status"
)

func TestParseHTTP(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]Endpoint{
		"a:1":              {Host: "a:1", Address: "a:1"},
		"a":                {Host: "a", Address: "a:80"},
		"http://a/":        {Host: "a", Address: "a:80"},
		"http://a:1/x y/":  {Host: "a:1", Address: "a:1", Path: "/x%20y"},
		"http://[::1]":     {Host: "[::1]", Address: "[::1]:80"},
		"http://[::1]:2/b": {Host: "[::1]:2", Address: "[::1]:2", Path: "/b"},
	} {
		e, err := ParseHTTP(address, nil)
		require.NoError(t, err, address)
		require.Equal(t, want, *e, address)
	}
	e, err := ParseHTTP("a", &tls.Config{})
	require.NoError(t, err)
	require.Equal(t, []string{"a:443", "a", "https://a/v2"}, []string{e.Address, e.TLS.ServerName, e.URL("/v2")})
	e, err = ParseHTTP("https://a:1", &tls.Config{ServerName: "b"})
	require.NoError(t, err)
	require.Equal(t, []string{"a:1", "b"}, []string{e.Address, e.TLS.ServerName})
}

func TestOtherProtocol(t *testing.T) {
	t.Parallel()
	err := errors.New(`net/http: HTTP/1.x transport connection broken: malformed HTTP response "\x00\x00\x18\x04\x00\x00\x00\x00\x00\x00\x05\x00"`)
	require.EqualError(t, SpeaksRPC(err), "the server speaks gRPC at this port: choose gRPC, or the port of its HTTP service")
	err = errors.New(`malformed HTTP response "SSH-2.0-x"`)
	require.Equal(t, err, SpeaksRPC(err))
	err = grpcstatus.Error(codes.Unavailable, `connection error: desc = "frame too large, note that the frame header looked like an HTTP/1.1 header"`)
	require.ErrorContains(t, RPCError(t.Context(), err), "the server speaks HTTP at this port; choose HTTP")
}

func TestRPCError(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	err := RPCError(ctx, grpcstatus.Error(codes.DeadlineExceeded, "too late"))
	require.EqualError(t, err, "too late: context deadline exceeded")
	require.ErrorIs(t, err, context.DeadlineExceeded, "the server saw it first")
	err = RPCError(ctx, grpcstatus.Error(codes.InvalidArgument, "bad"))
	require.EqualError(t, err, "bad")
	require.Equal(t, status.InvalidArg, status.CodeOf(err))
	err = errors.New("other")
	require.ErrorContains(t, RPCError(ctx, err), "other")
	ended, cancel := context.WithCancel(ctx)
	cancel()
	require.Equal(t, context.Canceled, RPCError(ended, err))
}

// TestDenied: the errors of calls that the client may not make are recognized.
func TestDenied(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]bool{401: true, 403: true, 400: false, 503: false} {
		require.Equal(t, want, errors.Is(HTTPError(code, []byte(`{"error":"x"}`)), ErrDenied), code)
	}
	for err, want := range map[error]bool{
		grpcstatus.Error(codes.PermissionDenied, "x"): true, grpcstatus.Error(codes.Unauthenticated, "x"): true,
		grpcstatus.Error(codes.Unavailable, "This protocol is restricted, expecting header 'triton-grpc-protocol-k'"): true,
		grpcstatus.Error(codes.Unavailable, "x"): false,
	} {
		require.Equal(t, want, errors.Is(RPCError(t.Context(), err), ErrDenied), err)
	}
}

func TestParseGRPC(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"localhost:8001": "passthrough:///localhost:8001", "grpc://h:1": "passthrough:///h:1", "dns:8001": "passthrough:///dns:8001",
		"dns:///localhost:8001": "dns:///localhost:8001", "dns:h:1": "dns:h:1", "dns://resolver/h:1": "dns://resolver/h:1", "dns:///h": "dns:///h",
		"passthrough:///h:1": "passthrough:///h:1", "ipv4:127.0.0.1:8001": "passthrough:///127.0.0.1:8001", "ipv6:[::1]:8001": "passthrough:///[::1]:8001",
		"unix:/run/s": "unix:/run/s", "unix:///run/s": "unix:///run/s", "unix-abstract:s": "unix-abstract:s",
	} {
		got, err := ParseGRPC(address, nil)
		require.NoError(t, err, address)
		require.Equal(t, want, got.String())
	}
	for _, address := range []string{"", "http://h:1", "dns:///", "h:1/v2", "grpc://"} {
		_, err := ParseGRPC(address, nil)
		require.EqualError(t, err, fmt.Sprintf("server address %q: give host:port for gRPC, or a target such as dns:///host:port or unix:///path", address))
	}
	_, err := ParseGRPC("ipv4:1.2.3.4:1,1.2.3.5:1", nil)
	require.EqualError(t, err, `server address "ipv4:1.2.3.4:1,1.2.3.5:1": give one address`)
	target, err := ParseGRPC("dns:///h:1", &tls.Config{MinVersion: tls.VersionTLS12})
	require.NoError(t, err)
	require.Equal(t, []string{"h", "https"}, []string{target.Authority(), target.Scheme()})
}

// TestDialTargets connects through each resolver.
func TestDialTargets(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	listen := func(network, address string) net.Listener {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), network, address)
		require.NoError(t, err)
		s := grpc.NewServer()
		go func() { _ = s.Serve(l) }()
		t.Cleanup(s.Stop)
		return l
	}
	_, port, err := net.SplitHostPort(listen("tcp", "127.0.0.1:0").Addr().String())
	require.NoError(t, err)
	listen("unix", path)
	for _, address := range []string{"127.0.0.1:" + port, "dns:///127.0.0.1:" + port, "ipv4:127.0.0.1:" + port, "unix://" + path, "unix:" + path} {
		target, err := ParseGRPC(address, nil)
		require.NoError(t, err)
		conn, err := target.Dial()
		require.NoError(t, err)
		err = conn.Invoke(t.Context(), "/s/m", nil, &struct{}{}, grpc.ForceCodec(empty{}))
		require.Equal(t, codes.Unimplemented, grpcstatus.Code(err), "%s: %v", address, err) // the server answered
		require.NoError(t, conn.Close())
		socket, err := target.Connect(t.Context())
		require.NoError(t, err, address)
		require.NoError(t, socket.Close())
	}
}

// TestDialed: connections without grpc-go go where its resolvers would lead them.
func TestDialed(t *testing.T) {
	t.Parallel()
	for address, want := range map[string][4]string{ // network, address, authority, and whether a DNS server is named
		"h:1": {"tcp", "h:1", "h:1"}, "passthrough:///h:1": {"tcp", "h:1", "h:1"}, "ipv6:[::1]:8001": {"tcp", "[::1]:8001", "[::1]:8001"},
		"dns:h:1": {"tcp", "h:1", "h:1"}, "dns:///h": {"tcp", "h:443", "h"}, "dns:///[::1]": {"tcp", "[::1]:443", "[::1]"},
		"dns://1.2.3.4/h:1": {"tcp", "h:1", "h:1", "yes"},
		"unix:s":            {"unix", "s", "localhost"}, "unix:///run/s": {"unix", "/run/s", "localhost"}, "unix-abstract:s": {"unix", "@s", "localhost"},
	} {
		target, err := ParseGRPC(address, nil)
		require.NoError(t, err)
		network, dialed, resolver := target.dialed()
		got := [4]string{network, dialed, target.Authority()}
		if resolver != nil {
			got[3] = "yes"
		}
		require.Equal(t, want, got, address)
	}
}

// empty is a codec of messages without content.
type empty struct{}

func (empty) Marshal(any) ([]byte, error) { return nil, nil }
func (empty) Unmarshal([]byte, any) error { return nil }
func (empty) Name() string                { return "empty" }
