package server

import (
	"context"
	"sync"
	"time"

	"triton/pkg/status"
)

// Poll looks once for changes of the repositories and applies them, in poll control.
func (s *Server) Poll(ctx context.Context) error { return s.models.Poll(ctx) }

// RegisterRepository adds a repository path in explicit control. It loads nothing. names are the names
// of models by their folders; another folder's name is that of its model.
func (s *Server) RegisterRepository(path string, names map[string]string) error {
	return s.models.Register(path, names)
}

// UnregisterRepository removes a path that RegisterRepository added. Models loaded from it stay.
func (s *Server) UnregisterRepository(path string) error { return s.models.Unregister(path) }

// SetExitTimeout replaces the exit timeout of the options, until the server stops.
func (s *Server) SetExitTimeout(d time.Duration) { s.exitTimeout.Store(int64(max(d, 0))) }

// MetricsText returns all metrics as the metrics endpoint does. The options must have enabled
// metrics. It is valid after Serving.
func (s *Server) MetricsText() ([]byte, error) {
	if s.metrics == nil {
		return nil, status.New(status.Unsupported, "metrics not supported")
	}
	return s.metrics.page(), nil
}

// embedMetrics collects metrics without a port, if the options say so, until the returned function
// is called.
func (s *Server) embedMetrics() (stop func()) {
	if !s.opts.Metrics.Embedded || s.metrics != nil {
		return func() {}
	}
	s.metrics = s.collectMetrics()
	ctx, cancel := context.WithCancel(context.Background())
	var polling sync.WaitGroup
	polling.Go(func() { s.metrics.machine.poll(ctx) })
	return func() {
		cancel()
		polling.Wait()
	}
}
