package lane_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"triton/pkg/client"
	"triton/pkg/client/lane"
	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

// counted counts the connections that a listener accepts.
type counted struct {
	net.Listener
	n atomic.Int32
}

func (c *counted) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.n.Add(1)
	}
	return conn, err
}

// stuck completes no inference before its caller has canceled it.
type stuck struct {
	inferencepb.UnimplementedGRPCInferenceServiceServer
	entered chan struct{}
}

func (s *stuck) ModelInfer(ctx context.Context, _ *inferencepb.ModelInferRequest) (*inferencepb.ModelInferResponse, error) {
	s.entered <- struct{}{}
	<-ctx.Done()
	return nil, ctx.Err()
}

func (s *stuck) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // net/http looks for the end of the connection only then
	s.entered <- struct{}{}
	<-r.Context().Done()
}

func startStuckGRPC(t *testing.T) (*stuck, *counted) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s, g, c := &stuck{entered: make(chan struct{}, 1)}, grpc.NewServer(), &counted{Listener: l}
	inferencepb.RegisterGRPCInferenceServiceServer(g, s)
	done := make(chan struct{})
	go func() { defer close(done); _ = g.Serve(c) }()
	t.Cleanup(func() { g.Stop(); <-done })
	return s, c
}

// eachStuck runs f with each protocol and a server that never responds.
func eachStuck(t *testing.T, f func(t *testing.T, c *lane.Client, entered <-chan struct{})) {
	t.Helper()
	g, l := startStuckGRPC(t)
	h := &stuck{entered: make(chan struct{}, 1)}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	t.Run("gRPC", func(t *testing.T) {
		f(t, newClient(t, options(client.Options{Protocol: client.GRPC, Address: l.Addr().String()})), g.entered)
	})
	t.Run("HTTP", func(t *testing.T) { f(t, newClient(t, options(client.Options{Address: s.URL})), h.entered) })
}

func open(t *testing.T, c *lane.Client) (lane.Conn, *lane.Prepared) {
	t.Helper()
	p, err := c.Prepare(request())
	require.NoError(t, err)
	t.Cleanup(p.Release)
	l, err := c.Dial(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l, p
}

// TestDoEndsWithItsContext: each request has a context of its own, and the lane
// goes on after one that was cancelled.
func TestDoEndsWithItsContext(t *testing.T) {
	eachStuck(t, func(t *testing.T, c *lane.Client, entered <-chan struct{}) {
		l, p := open(t, c)
		for range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			go func() { <-entered; cancel() }()
			require.ErrorIs(t, l.Do(ctx, p, &lane.Exchange{}), context.Canceled)
			require.ErrorIs(t, l.Do(ctx, p, &lane.Exchange{}), context.Canceled, "it has ended before")
		}
	})
}

func TestCloseEndsDo(t *testing.T) {
	eachStuck(t, func(t *testing.T, c *lane.Client, entered <-chan struct{}) {
		l, p := open(t, c)
		go func() { <-entered; _ = l.Close() }()
		require.Error(t, l.Do(context.Background(), p, &lane.Exchange{}))
		require.Error(t, l.Do(t.Context(), p, &lane.Exchange{}))
		require.NoError(t, l.Close())
	})
}

func TestDialEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	eachStuck(t, func(t *testing.T, c *lane.Client, _ <-chan struct{}) {
		_, err := c.Dial(ctx)
		require.ErrorIs(t, err, context.Canceled)
	})
}

// TestNewContextForEachRequest uses another context for each request, as callers other than
// load generators do.
func TestNewContextForEachRequest(t *testing.T) {
	_, grpcAddress := startGRPC(t)
	httpAddress, connections := rawServer(t, fine, fine, fine, fine, fine, fine, fine, fine)
	for p, address := range map[client.Protocol]string{client.GRPC: grpcAddress, client.HTTP: httpAddress} {
		l, prepared := open(t, newClient(t, options(client.Options{Protocol: p, Address: address})))
		for range 4 {
			ctx, cancel := context.WithCancel(t.Context())
			require.NoError(t, l.Do(ctx, prepared, &lane.Exchange{}))
			require.NoError(t, l.Do(t.Context(), prepared, &lane.Exchange{}))
			cancel()
		}
	}
	require.EqualValues(t, 1, connections.Load(), "a context that is no longer followed ends nothing")
}

// TestLanesShareConnections: lanes that were closed leave room for others.
func TestLanesShareConnections(t *testing.T) {
	_, l := startStuckGRPC(t)
	c := newClient(t, lane.Options{
		Options:            client.Options{Protocol: client.GRPC, Address: l.Addr().String()},
		LanesPerConnection: 2,
	})
	dial := func() lane.Conn {
		l, err := c.Dial(t.Context())
		require.NoError(t, err)
		return l
	}
	for range 10 {
		a, b := dial(), dial()
		require.NoError(t, a.Close())
		require.NoError(t, a.Close(), "again")
		require.NoError(t, b.Close())
	}
	require.EqualValues(t, 1, l.n.Load())
	a, b, other := dial(), dial(), dial()
	require.EqualValues(t, 2, l.n.Load())
	for _, l := range []lane.Conn{a, b, other} {
		require.NoError(t, l.Close())
	}
}

// TestCancelledCallsKeepTheirConnection: a cancelled request costs no connection.
func TestCancelledCallsKeepTheirConnection(t *testing.T) {
	s, l := startStuckGRPC(t)
	c := newClient(t, options(client.Options{Protocol: client.GRPC, Address: l.Addr().String()}))
	for range 20 {
		lane, p := open(t, c)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-s.entered; cancel() }()
		require.ErrorIs(t, lane.Do(ctx, p, exchange()), context.Canceled)
		require.NoError(t, lane.Close())
	}
	require.EqualValues(t, 1, l.n.Load())
}

func exchange() *lane.Exchange { return &lane.Exchange{} }

// TestSequencesOverHTTP: the parameters of sequences are sent.
func TestSequencesOverHTTP(t *testing.T) {
	bodies := make(chan string, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		bodies <- string(b)
		_, _ = io.WriteString(w, "{}")
	}))
	defer s.Close()
	c := newClient(t, options(client.Options{Address: s.URL}))
	for want, change := range map[string]func(*kserve.Request){
		`"sequence_id":7,"sequence_start":true,"sequence_end":false,`:   func(r *kserve.Request) { r.SequenceID, r.SequenceStart = 7, true },
		`"sequence_id":"x","sequence_start":false,"sequence_end":true,`: func(r *kserve.Request) { r.SequenceIDStr, r.SequenceEnd = "x", true },
	} {
		r := request()
		change(r)
		require.NoError(t, infer(t, c, r, &kserve.Response{}))
		require.Contains(t, <-bodies, want)
	}
	r := request()
	r.EmptyFinal = true
	_, err := c.Prepare(r)
	require.ErrorContains(t, err, "empty final response", "HTTP has none, and servers refuse it")
}

func TestPreparedIsReleased(t *testing.T) {
	_, address := startGRPC(t)
	c := newClient(t, options(client.Options{Protocol: client.GRPC, Address: address}))
	pool := tensor.NewPool()
	r := &kserve.Request{ModelName: "m"}
	in := r.AddInput()
	in.Name, in.DataType, in.Shape = "X", tensor.Uint8, tensor.Shape{1, 200 << 10}
	in.Data = tensor.NewData(pool.Get(200 << 10))
	var resp kserve.Response
	require.NoError(t, infer(t, c, r, &resp))
	resp.Reset()
	r.Reset()
	require.Zero(t, pool.Outstanding())
}

// TestSequencesAreNotSentTwice: the server that closed the connection may have
// run the request. Requests without a sequence are sent again; see
// TestLaneConnectsAgainWhenTheServerHungUp.
func TestSequencesAreNotSentTwice(t *testing.T) {
	address, _ := rawServer(t, fine, "", fine)
	c := newClient(t, options(client.Options{Address: address}))
	r := request()
	r.SequenceID = 7
	p, err := c.Prepare(r)
	require.NoError(t, err)
	l, err := c.Dial(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	require.NoError(t, l.Do(t.Context(), p, exchange()))
	require.ErrorIs(t, l.Do(t.Context(), p, exchange()), io.EOF)
	require.NoError(t, l.Do(t.Context(), p, exchange()), "the lane goes on")
}

func TestLaneTLS(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, bufio.NewReader(r.Body))
		_, _ = io.WriteString(w, "{}")
	}))
	s.Config.ErrorLog = nil
	defer s.Close()
	config := s.Client().Transport.(*http.Transport).TLSClientConfig
	l, p := open(t, newClient(t, options(client.Options{Address: s.URL, TLS: config})))
	for range 3 {
		require.NoError(t, l.Do(t.Context(), p, exchange()))
	}
}
