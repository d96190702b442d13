package lane_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	_ "google.golang.org/grpc/encoding/gzip" // registers itself
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"

	"triton/pkg/client"
	"triton/pkg/client/lane"
	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// reflector answers with the raw inputs, over streams too, and counts the requests by their IDs.
type reflector struct {
	inferencepb.UnimplementedGRPCInferenceServiceServer
	mu       sync.Mutex
	seen     map[string]int
	metadata metadata.MD
	deadline bool
	method   string
}

func (s *reflector) record(ctx context.Context, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[string]int{}
	}
	s.seen[id]++
	s.metadata, _ = metadata.FromIncomingContext(ctx)
	_, s.deadline = ctx.Deadline()
	s.method, _ = grpc.Method(ctx)
}

func (s *reflector) ModelInfer(ctx context.Context, r *inferencepb.ModelInferRequest) (*inferencepb.ModelInferResponse, error) {
	s.record(ctx, r.GetId())
	if r.GetModelName() == "fail" {
		return nil, grpcstatus.Error(codes.InvalidArgument, "50% \u00fc\n"+strings.Repeat("x", 100))
	}
	_ = grpc.SetSendCompressor(ctx, r.GetModelVersion())
	return &inferencepb.ModelInferResponse{
		ModelName: r.GetModelName(), Id: r.GetId(),
		Outputs:           []*inferencepb.ModelInferResponse_InferOutputTensor{{Name: "Y", Datatype: "UINT8", Shape: r.GetInputs()[0].GetShape()}},
		RawOutputContents: r.GetRawInputContents(),
	}, nil
}

func (s *reflector) ModelStreamInfer(stream inferencepb.GRPCInferenceService_ModelStreamInferServer) error {
	for {
		r, err := stream.Recv()
		if err != nil {
			return nil //nolint:nilerr // the client has ended
		}
		resp, err := s.ModelInfer(stream.Context(), r)
		m := &inferencepb.ModelStreamInferResponse{InferResponse: resp}
		if err != nil {
			m.ErrorMessage = grpcstatus.Convert(err).Message()
		}
		if err := stream.Send(m); err != nil {
			return err
		}
	}
}

// serve starts grpc-go's server, the reference for what a lane must speak.
func serve(t *testing.T, s inferencepb.GRPCInferenceServiceServer, o ...grpc.ServerOption) (address string, server *grpc.Server) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := grpc.NewServer(append(o, grpc.MaxRecvMsgSize(1<<30))...)
	inferencepb.RegisterGRPCInferenceServiceServer(g, s)
	done := make(chan struct{})
	go func() { defer close(done); _ = g.Serve(l) }()
	t.Cleanup(func() { g.Stop(); <-done })
	return l.Addr().String(), g
}

func sized(n int) *kserve.Request {
	r := &kserve.Request{ModelName: "m", ID: "1"}
	in := r.AddInput()
	in.Name, in.DataType, in.Shape = "X", tensor.Uint8, tensor.Shape{1, int64(n)}
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i * 31)
	}
	in.Data = tensor.NewData(tensor.HeapBuffer(data))
	return r
}

// TestSizesOverGRPC: requests and responses of many sizes arrive whole, whatever the windows, with and without
// compression, and over streams.
func TestSizesOverGRPC(t *testing.T) {
	t.Parallel()
	for name, o := range map[string][]grpc.ServerOption{
		"default":       nil,
		"small windows": {grpc.InitialWindowSize(64 << 10), grpc.InitialConnWindowSize(64 << 10)},
		"small buffers": {grpc.WriteBufferSize(0), grpc.ReadBufferSize(0), grpc.MaxConcurrentStreams(1), grpc.MaxHeaderListSize(4096)},
	} {
		address, _ := serve(t, &reflector{}, o...)
		for _, compression := range []string{"", "gzip", "deflate"} {
			for _, streaming := range []bool{false, true} {
				c := newClient(t, lane.Options{Options: client.Options{Protocol: client.GRPC, Address: address}, Compression: compression, Streaming: streaming})
				for _, n := range []int{0, 1, 16379, 16384, 65535, 65536, 200_000, 9 << 20} {
					if compression != "" && n > 1<<20 {
						continue // compressing takes long under the race detector
					}
					req := sized(n)
					req.ModelVersion = compression
					var resp kserve.Response
					require.NoError(t, infer(t, c, req, &resp), "%s, %s, %d", name, compression, n)
					want, _ := req.Inputs[0].Data.Contiguous()
					got := []byte{}
					if n > 0 {
						got, _ = resp.Output("Y").Data.Contiguous()
					}
					require.True(t, string(want) == string(got), "%s, %s, %v, %d bytes differ", name, compression, streaming, n)
					resp.Reset()
				}
			}
		}
	}
}

// TestCallsOfLanes: what the server sees of a call is what grpc-go would send.
func TestCallsOfLanes(t *testing.T) {
	t.Parallel()
	s := &reflector{}
	address, _ := serve(t, s)
	c := newClient(t, lane.Options{Options: client.Options{Protocol: client.GRPC, Address: address, Headers: map[string]string{
		"X-Extra": "1", "x-bin": "\x00\xff", "grpc-own": "no", "te": "no",
	}}, Compression: "gzip"})
	l, p := open(t, c)
	for range 3 {
		require.NoError(t, l.Do(t.Context(), p, exchange()))
		require.Equal(t, metadata.MD{
			":authority": {address}, "content-type": {"application/grpc+proto"}, "grpc-accept-encoding": {"gzip,deflate"}, "user-agent": {"triton-perf"},
			"x-bin": {"\x00\xff"}, "x-extra": {"1"},
		}, s.metadata)
		require.False(t, s.deadline)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	require.NoError(t, l.Do(ctx, p, exchange()))
	require.True(t, s.deadline)
	ended, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	require.ErrorIs(t, l.Do(ended, p, exchange()), context.DeadlineExceeded)
	require.NoError(t, l.Do(t.Context(), p, exchange()), "the lane goes on")

	for name, want := range map[string]string{"a b": "illegal characters", "x\u00fc": "illegal characters"} {
		bad := newClient(t, options(client.Options{Protocol: client.GRPC, Address: address, Headers: map[string]string{name: "1"}}))
		l, p := open(t, bad)
		require.ErrorContains(t, l.Do(t.Context(), p, exchange()), want)
	}
	bad := newClient(t, options(client.Options{Protocol: client.GRPC, Address: address, Headers: map[string]string{"x": "a\nb"}}))
	l, p = open(t, bad)
	require.ErrorContains(t, l.Do(t.Context(), p, exchange()), "non-printable")
}

// TestErrorsOverGRPC have the text of the server, and the lane goes on.
func TestErrorsOverGRPC(t *testing.T) {
	t.Parallel()
	address, _ := serve(t, &reflector{})
	for _, streaming := range []bool{false, true} {
		c := newClient(t, lane.Options{Options: client.Options{Protocol: client.GRPC, Address: address}, Streaming: streaming})
		bad := request()
		bad.ModelName = "fail"
		p, err := c.Prepare(bad)
		require.NoError(t, err)
		l, err := c.Dial(t.Context())
		require.NoError(t, err)
		for range 3 {
			err = l.Do(t.Context(), p, exchange())
			require.EqualError(t, err, "50% \u00fc\n"+strings.Repeat("x", 100))
			if !streaming {
				require.Equal(t, status.InvalidArg, status.CodeOf(err))
			}
		}
		require.NoError(t, l.Close())
	}
}

// TestConnectionAge: a server that ends connections all the time gets each request once, and no request fails.
func TestConnectionAge(t *testing.T) {
	t.Parallel()
	for _, streaming := range []bool{false, true} {
		s := &reflector{}
		address, _ := serve(t, s, grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: 20 * time.Millisecond, MaxConnectionAgeGrace: 10 * time.Second}))
		c := newClient(t, lane.Options{Options: client.Options{Protocol: client.GRPC, Address: address}, Streaming: streaming})
		p, err := c.Prepare(request())
		require.NoError(t, err)
		var sent atomic.Int64
		var wg sync.WaitGroup
		until := time.Now().Add(500 * time.Millisecond)
		for range 8 {
			wg.Go(func() {
				l, err := c.Dial(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				defer func() { _ = l.Close() }()
				for x := exchange(); time.Now().Before(until); sent.Add(1) {
					if err := l.Do(t.Context(), p, x); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		require.EqualValues(t, sent.Load(), s.seen[`a"b`])
	}
}

// TestServerThatComesBack: after a server has gone requests fail at once, and succeed when it is there again.
func TestServerThatComesBack(t *testing.T) {
	t.Parallel()
	address, server := serve(t, &reflector{})
	l, p := open(t, newClient(t, options(client.Options{Protocol: client.GRPC, Address: address})))
	require.NoError(t, l.Do(t.Context(), p, exchange()))
	server.Stop()
	require.ErrorContains(t, l.Do(t.Context(), p, exchange()), "connection error")
	require.ErrorContains(t, l.Do(t.Context(), p, exchange()), "failed to connect to all addresses; last error: connection error: desc = \"transport: Error while dialing: dial tcp")
	again, err := net.Listen("tcp", address)
	if err != nil {
		t.Skip("another program has taken the port")
	}
	g := grpc.NewServer()
	inferencepb.RegisterGRPCInferenceServiceServer(g, &reflector{})
	done := make(chan struct{})
	go func() { defer close(done); _ = g.Serve(again) }()
	defer func() { g.Stop(); <-done }()
	require.NoError(t, l.Do(t.Context(), p, exchange()))
}

// TestSilentServer: dialing ends with its context, and so do the requests of other lanes.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	c := newClient(t, options(client.Options{Protocol: client.GRPC, Address: l.Addr().String()}))
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if _, err := c.Dial(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
		})
	}
	conn, err := l.Accept()
	require.NoError(t, err)
	cancel()
	wg.Wait()
	require.NoError(t, conn.Close())
}

func TestGRPCOverTLS(t *testing.T) {
	t.Parallel()
	h := httptest.NewTLSServer(nil) // for its certificate
	defer h.Close()
	address, _ := serve(t, &reflector{}, grpc.Creds(credentials.NewServerTLSFromCert(&h.TLS.Certificates[0])))
	config := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12} //nolint:gosec // a test
	c := newClient(t, options(client.Options{Protocol: client.GRPC, Address: address, TLS: config}))
	for _, n := range []int{1, 5 << 20} {
		var resp kserve.Response
		require.NoError(t, infer(t, c, sized(n), &resp))
		require.Equal(t, n, resp.Output("Y").Data.Len())
		resp.Reset()
	}
	l, p := open(t, newClient(t, options(client.Options{Protocol: client.GRPC, Address: address, TLS: &tls.Config{MinVersion: tls.VersionTLS12}})))
	require.ErrorContains(t, l.Do(t.Context(), p, exchange()), "transport: authentication handshake failed: tls: failed to verify certificate")
	l, p = open(t, newClient(t, options(client.Options{Protocol: client.GRPC, Address: address})))
	require.ErrorContains(t, l.Do(t.Context(), p, exchange()), "failed to connect to all addresses; last error: connection error: desc = \"error reading server preface: ")
	address, _ = serve(t, &reflector{})
	l, p = open(t, newClient(t, options(client.Options{Protocol: client.GRPC, Address: address, TLS: config})))
	require.ErrorContains(t, l.Do(t.Context(), p, exchange()), "transport: authentication handshake failed: tls: first record does not look like a TLS handshake")
}

// TestMethodCalls: any method, one message or many, as a call for each request.
func TestMethodCalls(t *testing.T) {
	t.Parallel()
	s := &reflector{}
	address, _ := serve(t, s)
	m, err := lane.NewMethod(lane.MethodOptions{
		Options: client.Options{Address: address}, Name: inferencepb.GRPCInferenceService_ModelStreamInfer_FullMethodName, Streaming: true,
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, m.Close()) }()
	l, err := m.Dial(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	for _, n := range []int{0, 1, 100} {
		messages := make([][]byte, n)
		for i := range messages {
			messages[i] = make([]byte, 200_000)
		}
		x := &lane.Exchange{Keep: true}
		err := l.Do(t.Context(), m.Prepare(messages...), x)
		if n == 0 {
			require.NoError(t, err)
			continue
		}
		require.Error(t, err, "these messages are not protobuf")
	}
	_, err = m.Invoke(t.Context(), "/no.Such/Method", nil)
	require.ErrorContains(t, err, "unknown service no.Such")
}
