// Package fake is a server for the tests of programs that call one. It speaks the whole protocol
// over HTTP and gRPC, because it is the real server; its models are functions of the test. So
// shapes, data types and unknown names are checked as in production, and a test decides what a
// model answers, how long that takes, and how it fails.
package fake

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"triton/pkg/client"
	"triton/server"
	"triton/server/backend"
	"triton/server/local"
)

// Backend is the name of the backend of the models.
const Backend = "fake"

// Model is a model whose answers are those of a function.
type Model struct {
	// Config is the text of config.pbtxt: max_batch_size, inputs, outputs and so on. The backend is
	// added. Models with `model_transaction_policy { decoupled: true }` send any number of responses.
	Config string
	// Answer answers a request. It may be called by several goroutines at once. ctx ends when the
	// client has cancelled the request, and when the server is closed. A model that is not decoupled
	// calls send once. An error is the answer if nothing was sent, and the last one otherwise; a
	// *status.Error keeps its code.
	Answer func(ctx context.Context, req *client.Request, send func(*client.Response) error) error
}

// Unary returns the Answer of a model with one response for each request.
func Unary(f func(ctx context.Context, req *client.Request) (*client.Response, error)) func(context.Context, *client.Request, func(*client.Response) error) error {
	return func(ctx context.Context, req *client.Request, send func(*client.Response) error) error {
		resp, err := f(ctx, req)
		if err != nil {
			return err
		}
		return send(resp)
	}
}

// Server is a server with fake models, on free ports of the loopback interface.
type Server struct {
	*local.Server
	folder   string
	mu       sync.Mutex
	requests map[string][]*client.Request // by model
}

// TB is the part of testing.TB that New uses.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
	Cleanup(f func())
}

// New starts a server for a test and closes it with the test.
func New(t TB, models map[string]Model) *Server {
	t.Helper()
	s, err := Start(context.Background(), models)
	if err != nil {
		t.Fatalf("starting a fake server: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing a fake server: %v", err)
		}
	})
	return s
}

// Start starts a server. The caller closes it.
func Start(ctx context.Context, models map[string]Model) (_ *Server, err error) {
	folder, err := os.MkdirTemp("", "fake-models-")
	if err != nil {
		return nil, fmt.Errorf("a repository for fake models: %w", err)
	}
	s := &Server{folder: folder, requests: map[string][]*client.Request{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(folder))
		}
	}()
	for name, m := range models {
		if m.Answer == nil {
			return nil, fmt.Errorf("model %q has no Answer", name)
		}
		if err := write(filepath.Join(folder, name), m.Config); err != nil {
			return nil, fmt.Errorf("the folder of model %q: %w", name, err)
		}
	}
	o := local.Options()
	o.Repositories, o.Backends = []string{folder}, backend.Set{Backend: &functions{models: models, seen: s.see}}
	for _, e := range []*server.Endpoint{&o.HTTP.Endpoint, &o.GRPC.Endpoint} {
		e.Allow, e.Address, e.Port = true, "127.0.0.1", 0
	}
	if s.Server, err = local.Start(ctx, o); err != nil {
		return nil, err
	}
	return s, nil
}

func write(folder, config string) error {
	return errors.Join(
		os.MkdirAll(filepath.Join(folder, "1"), 0o755),
		os.WriteFile(filepath.Join(folder, "config.pbtxt"), []byte("backend: \""+Backend+"\"\n"+config), 0o600))
}

// HTTP returns the address of the HTTP port.
func (s *Server) HTTP() string { return s.Addresses().HTTP }

// GRPC returns the address of the gRPC port.
func (s *Server) GRPC() string { return s.Addresses().GRPC }

// Requests returns what a model was asked, in the order of the calls of Answer.
func (s *Server) Requests(model string) []*client.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*client.Request(nil), s.requests[model]...)
}

func (s *Server) see(model string, req *client.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[model] = append(s.requests[model], req)
}

// Close ends the server. Functions that still run see the end of their contexts.
func (s *Server) Close() error { return errors.Join(s.Server.Close(), os.RemoveAll(s.folder)) }
