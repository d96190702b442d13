// Package local runs a server in the caller's process and answers its requests without a
// socket and without a codec. Its messages are those of pkg/client, so a program can use a
// server in its own process and one elsewhere through one interface.
package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"triton/pkg/client"
	"triton/pkg/tensor"
	"triton/server"
	"triton/server/infer"
	"triton/server/shm"
)

// Server is a server in this process. It is safe for concurrent use.
type Server struct {
	server  *server.Server
	service infer.Service
	pool    *tensor.Pool
	regions *shm.Manager

	stop context.CancelFunc
	done chan struct{} // closed when the server has ended
	err  error         // of the server; valid when it has ended
}

// Options returns the default options of a server without ports, with no log. The caller sets
// Repositories and Backends.
func Options() server.Options {
	o := server.Default()
	for _, e := range []*server.Endpoint{&o.HTTP.Endpoint, &o.GRPC.Endpoint, &o.Metrics.Endpoint} {
		e.Allow = false
	}
	o.Log = slog.New(slog.DiscardHandler)
	return o
}

// Start starts a server and waits until its models are loaded and the ports that the options
// allow are open. It fails if a model of the startup fails to load, unless o.ExitOnError is
// false. ctx bounds the start only. The caller closes the server.
func Start(ctx context.Context, o server.Options) (*Server, error) {
	inner, err := server.New(o)
	if err != nil {
		return nil, err
	}
	s := &Server{
		server: inner, service: inner.Service(), pool: inner.Pool(), regions: inner.Regions(),
		done: make(chan struct{}),
	}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	go func() {
		defer close(s.done)
		s.err = inner.Run(run)
	}()
	select {
	case <-inner.Serving():
		return s, nil
	case <-s.done:
		stop()
		return nil, fmt.Errorf("starting a server in this process: %w", s.err)
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), s.Close())
	}
}

// Close refuses new requests, waits for those in flight as long as the exit timeout of the
// options allows, and unloads the models. It returns the server's error, and may be called
// again.
func (s *Server) Close() error {
	s.stop()
	<-s.done
	return s.err
}

// Core returns the server itself, for what the messages of pkg/client cannot say.
func (s *Server) Core() *server.Server { return s.server }

// Addresses returns the addresses of the ports that the options allow.
func (s *Server) Addresses() server.Addresses { return s.server.Addresses() }

// Live reports whether the server answers at all.
func (s *Server) Live(context.Context) (bool, error) { return s.service.Live(), nil }

// Ready reports whether the server takes requests.
func (s *Server) Ready(context.Context) (bool, error) { return s.service.Ready(), nil }

// ServerMetadata returns the name, the version and the extensions of the server.
func (s *Server) ServerMetadata(context.Context) (*client.ServerMetadata, error) {
	return s.service.Metadata(), nil
}

// ModelReady reports whether a model version takes requests. With an empty version the server
// chooses.
func (s *Server) ModelReady(_ context.Context, model, version string) (bool, error) {
	return s.service.ModelReady(model, version)
}

// ModelMetadata returns the inputs, the outputs and the versions of a model.
func (s *Server) ModelMetadata(ctx context.Context, model, version string) (*client.ModelMetadata, error) {
	d, err := infer.Describe(ctx, s.service, model, version)
	if err != nil {
		return nil, err
	}
	defer d.Release()
	return d.Metadata(), nil
}

// ModelConfig returns the completed configuration of a model.
func (s *Server) ModelConfig(ctx context.Context, model, version string) (*client.ModelConfig, error) {
	d, err := infer.Describe(ctx, s.service, model, version)
	if err != nil {
		return nil, err
	}
	defer d.Release()
	return d.Config(), nil
}

// Statistics returns the statistics of a model, or of all models if model is empty.
func (s *Server) Statistics(_ context.Context, model, version string) ([]*client.ModelStatistics, error) {
	r, err := s.service.Statistics(model, version)
	return r.GetModelStats(), err
}

// Index returns the models of the repositories.
func (s *Server) Index(_ context.Context, readyOnly bool) ([]*client.IndexEntry, error) {
	return s.service.Index(readyOnly).GetModels(), nil
}

// Load loads or reloads a model and returns when it serves. o may replace its configuration and
// its files. The options of the server must allow it (Models.Control).
func (s *Server) Load(ctx context.Context, model string, o client.Override) error {
	load := infer.LoadOptions{Files: map[string][]byte{}}
	if o.Config != "" {
		load.Config = &o.Config
	}
	for path, content := range o.Files {
		load.Files["file:"+path] = content
	}
	return s.service.Load(ctx, model, load)
}

// Unload takes a model out of service; requests in flight finish. With dependents it also
// unloads the models of an ensemble.
func (s *Server) Unload(ctx context.Context, model string, dependents bool) error {
	return s.service.Unload(ctx, model, dependents)
}
