package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
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
