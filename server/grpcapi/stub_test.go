package grpcapi_test

import (
	"context"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/grpcapi"
	"triton/server/infer"
)

// stub is a core whose models are those of testdata/conformance: outputs are
// inputs, with X for Y in the name. It checks nothing.
type stub struct {
	pool              *tensor.Pool
	notReady, exiting atomic.Bool
	failure           error
	held              atomic.Int64 // references to models
	repeat            int          // how often outputs repeat their data
	block             func(context.Context) error
	config            *inferencepb.ModelConfig
}

func newStub() *stub {
	return &stub{
		pool:   tensor.NewPool(),
		config: &inferencepb.ModelConfig{Name: "echo", Backend: "identity"},
	}
}

func (s *stub) Live() bool     { return true }
func (s *stub) Ready() bool    { return !s.notReady.Load() }
func (s *stub) Exiting() bool  { return s.exiting.Load() }
func (s *stub) Failure() error { return s.failure }

func (s *stub) Metadata() *inferencepb.ServerMetadataResponse {
	return &inferencepb.ServerMetadataResponse{Name: "triton", Version: "1.2.3", Extensions: []string{"statistics"}}
}

func known(name string) bool {
	return name == "echo" || name == "two" || name == "dec" || strings.HasPrefix(name, "t_")
}

func (s *stub) ModelReady(name, _ string) (bool, error) { return known(name), nil }

func (s *stub) Statistics(name, _ string) (*inferencepb.ModelStatisticsResponse, error) {
	if !known(name) {
		return nil, status.New(status.InvalidArg, "requested model '%s' is not available", name)
	}
	return &inferencepb.ModelStatisticsResponse{ModelStats: []*inferencepb.ModelStatistics{{Name: name, Version: "1"}}}, nil
}

func (s *stub) Index(bool) *inferencepb.RepositoryIndexResponse {
	return &inferencepb.RepositoryIndexResponse{
		Models: []*inferencepb.RepositoryIndexResponse_ModelIndex{{Name: "echo", Version: "1", State: "READY"}},
	}
}

func (s *stub) Model(name, _ string) (infer.Model, error) {
	if !known(name) {
		return nil, status.New(status.NotFound, "Request for unknown model: '%s' is not found", name)
	}
	s.held.Add(1)
	switch name {
	case "two":
		return &special{(*echo)(s), &inferencepb.ModelConfig{MaxBatchSize: 8}}, nil
	case "dec":
		c := &inferencepb.ModelConfig{ModelTransactionPolicy: &inferencepb.ModelTransactionPolicy{Decoupled: true}}
		return &special{(*echo)(s), c}, nil
	}
	return (*echo)(s), nil
}

func (s *stub) Load(context.Context, string, infer.LoadOptions) error { return nil }

func (s *stub) Unload(context.Context, string, bool) error { return nil }

// Submit answers with what Infer would.
func (m *echo) Submit(r *infer.Request) error {
	resp, err := m.Infer(context.Background(), r)
	if err != nil {
		return err
	}
	r.Sink.Send(resp, true)
	return nil
}

type echo stub

func (m *echo) Name() string                     { return "echo" }
func (m *echo) Version() string                  { return "1" }
func (m *echo) Config() *inferencepb.ModelConfig { return m.config }
func (m *echo) Labels(string) []string           { return nil }
func (m *echo) Release()                         { m.held.Add(-1) }

func (m *echo) Metadata() *inferencepb.ModelMetadataResponse {
	return &inferencepb.ModelMetadataResponse{Name: "echo", Versions: []string{"1"}, Platform: "identity"}
}

func (m *echo) Infer(ctx context.Context, r *infer.Request) (*infer.Response, error) {
	defer r.Release()
	if m.block != nil {
		if err := m.block(ctx); err != nil {
			return nil, err
		}
	}
	resp := infer.NewResponse()
	resp.ModelName, resp.ModelVersion, resp.ID = r.ModelName, "1", r.ID
	for i := range r.Inputs {
		t := &r.Inputs[i]
		name := outputName(t.Name)
		if r.Wants(name) {
			resp.Add(name, t.DataType, t.Shape, t.Data.Clone())
			for range m.repeat {
				for k := range t.Data.Segments() {
					s := t.Data.Segment(k)
					resp.Outputs[len(resp.Outputs)-1].Data.Append(s.Buffer, s.Off, s.N)
				}
			}
		}
	}
	return resp, nil
}

func outputName(input string) string {
	switch input { // no allocation, for the benchmarks
	case "X":
		return "Y"
	case "X0":
		return "Y0"
	case "X1":
		return "Y1"
	}
	return input
}

// special is the same with another configuration.
type special struct {
	*echo
	config *inferencepb.ModelConfig
}

func (m *special) Config() *inferencepb.ModelConfig { return m.config }

// start serves the stub in memory and returns a plain client.
func start(t testing.TB, s *stub, dial ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	return serve(t, s, s, nil, dial...)
}

// serve is start for a core around the stub, with other options.
func serve(t testing.TB, core infer.Service, s *stub, change func(*grpcapi.Options), dial ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	lis := bufconn.Listen(1 << 20)
	opts := grpcapi.Default(s.pool)
	opts.HealthInterval = time.Millisecond
	if change != nil {
		change(&opts)
	}
	require.NoError(t, opts.Validate())
	srv := newServer(t, core, opts)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(lis)
	}()
	conn, err := grpc.NewClient("passthrough:bufconn", append(dial,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))...)
	require.NoError(t, err)
	t.Cleanup(func() {
		conn.Close()
		srv.GracefulStop() // waits for the handlers
		<-done
		require.Eventually(t, func() bool { return s.held.Load() == 0 }, time.Minute, time.Millisecond, "models still held")
		require.Eventually(t, func() bool { // gRPC drops what a closed connection had not sent
			runtime.GC()
			return s.pool.Outstanding() == 0
		}, time.Minute, time.Millisecond, "buffers not given back")
	})
	return conn
}
