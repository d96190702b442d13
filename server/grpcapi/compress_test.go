package grpcapi_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"
	grpcstatus "google.golang.org/grpc/status"

	"triton/pkg/inferencepb"
	"triton/server/grpcapi"
)

// encodings notes how responses are compressed.
type encodings struct {
	stats.Handler
	last string
}

func (*encodings) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (*encodings) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (*encodings) HandleConn(context.Context, stats.ConnStats)                       {}
func (e *encodings) HandleRPC(_ context.Context, s stats.RPCStats) {
	if h, ok := s.(*stats.InHeader); ok {
		e.last = h.Compression
	}
}

// TestResponseCompression: the level alone decides, not the compression of the request, and only
// for inference.
func TestResponseCompression(t *testing.T) {
	t.Parallel()
	for level, want := range map[grpcapi.Compression]string{
		grpcapi.CompressNone: "", grpcapi.CompressLow: "gzip", grpcapi.CompressMedium: "deflate", grpcapi.CompressHigh: "deflate",
	} {
		s := newStub()
		var seen encodings
		conn := serve(t, s, s, func(o *grpcapi.Options) { o.Compression = level }, grpc.WithStatsHandler(&seen))
		c := inferencepb.NewGRPCInferenceServiceClient(conn)
		for _, request := range []string{"identity", "gzip", "deflate"} {
			data := pattern(100 << 10)
			resp, err := c.ModelInfer(t.Context(), echoRequest(data), grpc.UseCompressor(request))
			require.NoError(t, err)
			requireEcho(t, data, resp)
			require.Equal(t, want, strings.TrimPrefix(seen.last, "identity"))

			stream, err := c.ModelStreamInfer(t.Context(), grpc.UseCompressor(request))
			require.NoError(t, err)
			require.NoError(t, stream.Send(echoRequest(data)))
			m, err := stream.Recv()
			require.NoError(t, err)
			requireEcho(t, data, m.GetInferResponse())
			require.NoError(t, stream.CloseSend())
			_, err = stream.Recv()
			require.ErrorIs(t, err, io.EOF)
			require.Equal(t, want, strings.TrimPrefix(seen.last, "identity"))

			_, err = c.ServerLive(t.Context(), &inferencepb.ServerLiveRequest{}, grpc.UseCompressor(request))
			require.NoError(t, err)
			require.Empty(t, strings.TrimPrefix(seen.last, "identity"))
		}
	}
}

// bomb returns a few bytes that are n when decompressed.
func bomb(t *testing.T, name string, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser = zlib.NewWriter(&b)
	if name == "gzip" {
		w = gzip.NewWriter(&b)
	}
	_, err := w.Write(make([]byte, n))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

// TestDecompressionBomb: the limit of messages holds after decompression, and the server
// continues to serve.
func TestDecompressionBomb(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: compresses or copies much")
	}
	for _, name := range []string{"gzip", "deflate"} {
		for _, c := range []struct {
			body []byte
			code codes.Code
		}{{bomb(t, name, 8<<20), codes.ResourceExhausted}, {[]byte("no such stream"), codes.Internal}} {
			s := newStub()
			conn := serve(t, s, s, func(o *grpcapi.Options) { o.MaxReceive = 1 << 20 },
				grpc.WithCompressor(sends{name, c.body})) //nolint:staticcheck // the only per-connection way
			client := inferencepb.NewGRPCInferenceServiceClient(conn)
			_, err := client.ModelInfer(t.Context(), echoRequest(nil))
			require.Equal(t, c.code, grpcstatus.Code(err), err)
			stream := openStream(t, t.Context(), conn)
			_ = stream.Send(echoRequest(nil))
			_, err = stream.Recv()
			require.Equal(t, c.code, grpcstatus.Code(err), err)
		}
	}
}

// sends is a compressor that makes the same of everything.
type sends struct {
	name string
	body []byte
}

func (s sends) Type() string { return s.name }

func (s sends) Do(w io.Writer, _ []byte) error {
	_, err := w.Write(s.body)
	return err
}
