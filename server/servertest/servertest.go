// Package servertest runs a real server inside a test, on ports of its own, with models that the
// test defines. It is for tests only.
package servertest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"triton/pkg/freeport"
	"triton/pkg/log"
	"triton/pkg/tensor"
	"triton/server"
	"triton/server/infer"
	"triton/server/memory"
)

// Option changes how the server is started.
type Option func(*setup)

type setup struct {
	models map[string]string
	change []func(*server.Options)
	paths  []string
}

// Model adds a model with one version and this config.pbtxt.
func Model(name, config string) Option {
	return func(s *setup) { s.models[name] = config }
}

// Repository adds a model repository that exists.
func Repository(path string) Option {
	return func(s *setup) { s.paths = append(s.paths, path) }
}

// With changes the server's options.
func With(change func(*server.Options)) Option {
	return func(s *setup) { s.change = append(s.change, change) }
}

// Identity returns a config.pbtxt for the builtin backend "identity": OUTPUT0 is INPUT0.
// The type is such as "INT32", the dimensions such as "16" or "-1, 4".
func Identity(datatype, dims string, maxBatch int) string {
	return fmt.Sprintf(`backend: "identity"
max_batch_size: %d
input { name: "INPUT0" data_type: TYPE_%s dims: [ %s ] }
output { name: "OUTPUT0" data_type: TYPE_%s dims: [ %s ] }
`, maxBatch, datatype, dims, datatype, dims)
}

// Server is a running server.
type Server struct {
	server.Addresses
	server *server.Server
	stop   context.CancelFunc
	done   chan struct{}
	err    error
}

// Start starts a server and waits until it serves. The end of the test stops it, and fails
// the test if memory was not released.
func Start(t testing.TB, opts ...Option) *Server {
	t.Helper()
	s, err := Try(t, opts...)
	if err != nil {
		t.Fatalf("starting the server: %v", err)
	}
	return s
}

// Try is Start for servers that may fail to start: it returns the error of Run.
func Try(t testing.TB, opts ...Option) (*Server, error) {
	t.Helper()
	set := &setup{models: map[string]string{}}
	for _, o := range opts {
		o(set)
	}
	o := server.Default()
	endpoints := []*server.Endpoint{
		&o.HTTP.Endpoint, &o.GRPC.Endpoint, &o.Metrics.Endpoint, &o.SageMaker.Endpoint, &o.Vertex.Endpoint,
	}
	// To the end of the test, no other server gets a port that this one has given up.
	ports, err := freeport.Reserve(len(endpoints))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ports.Release)
	for i, e := range endpoints {
		e.Address, e.Port = "127.0.0.1", ports.Ports()[i]
	}
	o.Repositories = append(set.paths, write(t, set.models))
	o.Backends = backends()
	o.GRPC.Frontend.Transport = GRPCTransport()
	o.Log = logger(t)
	for _, change := range set.change {
		change(&o)
	}
	if OnePort() && o.HTTP.Allow && o.GRPC.Allow && o.HTTP.TLS == o.GRPC.TLS {
		o.OnePort = true
	}
	isolate(&o)
	in, err := server.New(o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{server: in, stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		s.err = in.Run(ctx)
	}()
	select {
	case <-in.Serving():
		s.Addresses = in.Addresses()
	case <-s.done:
		cancel()
		return nil, s.err
	}
	t.Cleanup(func() {
		s.Stop(t)
		if n := unreleased(in.Pool()); n != 0 {
			t.Errorf("%d buffers were not released", n)
		}
		for _, k := range memory.Kinds {
			if n := unreturned(in.RequestMemory(), k); n != 0 {
				t.Errorf("%d bytes of the memory for requests were not returned: %s", n, k)
			}
		}
	})
	return s, nil
}

// unreleased returns the number of buffers that are not released. A killed server does not
// wait for the connections that it has cut, and buffers that gRPC drops on a broken
// connection are released by the next garbage collections, so unreleased polls for a while.
func unreleased(pool *tensor.Pool) int64 {
	for end := time.Now().Add(time.Minute); pool.Outstanding() != 0 && time.Now().Before(end); {
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
	return pool.Outstanding()
}

// unreturned is unreleased for the memory for requests.
func unreturned(b *memory.Budget, k memory.Kind) int64 {
	for end := time.Now().Add(time.Minute); b.Used(k) != 0 && time.Now().Before(end); {
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
	return b.Used(k)
}

// Service returns the service that the server's frontends call.
func (s *Server) Service() infer.Service { return s.server.Service() }

// Pool returns the server's pool of tensor memory.
func (s *Server) Pool() *tensor.Pool { return s.server.Pool() }

// Interrupt starts the shutdown like a first signal, and returns at once.
func (s *Server) Interrupt() { s.stop() }

// Hurry ends the drain delay, see server.Server.
func (s *Server) Hurry() bool { return s.server.Hurry() }

// Kill ends the server like a second signal.
func (s *Server) Kill() { s.server.Kill() }

// Wait waits until the server has ended and returns Run's error.
func (s *Server) Wait() error {
	<-s.done
	return s.err
}

// Stop ends the server and waits. It may be called again.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	s.stop()
	select {
	case <-s.done:
	case <-time.After(time.Minute):
		t.Fatal("the server did not end")
	}
}

func write(t testing.TB, models map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, config := range models {
		if err := os.MkdirAll(filepath.Join(dir, name, "1"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "config.pbtxt"), []byte(config), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// root returns the nearest parent folder with a go.mod; its lib/ may contain ONNX Runtime.
func root() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
		dir = filepath.Dir(dir)
	}
}

// logger writes to the test's log, as long as the test runs.
func logger(t testing.TB) *slog.Logger {
	w := &testWriter{t: t}
	t.Cleanup(w.end)
	sink, err := log.Open(log.DefaultSettings(), w, w)
	if err != nil {
		t.Fatal(err)
	}
	return sink.Logger()
}

type testWriter struct {
	mu sync.Mutex
	t  testing.TB // nil after the test
}

func (w *testWriter) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.t = nil
}

func (w *testWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.t != nil {
		w.t.Logf("%s", p)
	}
	return len(p), nil
}
