package agents

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"triton/pkg/status"
	"triton/server/repository/agents/library"
)

// libraries holds the agents in libraries that models use. An agent is initialized for its first
// model and finalized after its last one.
type libraries struct {
	log   *slog.Logger
	limit time.Duration

	mu   sync.Mutex // not held while a library is called
	open map[string]*shared
}

// shared is an agent that models share.
type shared struct {
	path  string
	refs  int           // guarded by libraries.mu
	ready chan struct{} // closed when agent and err are set
	agent *library.Agent
	err   error
}

// acquire returns the agent in a library, and opens it if no model uses it. The caller releases it.
func (l *libraries) acquire(ctx context.Context, path string) (*shared, error) {
	l.mu.Lock()
	s := l.open[path]
	first := s == nil
	if first {
		s = &shared{path: path, ready: make(chan struct{})}
		l.open[path] = s
	}
	s.refs++
	l.mu.Unlock()
	if first {
		go s.start()
	}
	timer := time.NewTimer(l.limit)
	defer timer.Stop()
	select {
	case <-s.ready:
		if s.err != nil {
			l.release(s)
			return nil, s.err
		}
		return s, nil
	case <-timer.C:
		go l.release(s) // waits until it is initialized
		return nil, status.New(status.Unavailable, "repository agent %s did not finish its initialization within %s", path, l.limit)
	case <-ctx.Done():
		go l.release(s)
		return nil, status.New(status.Unavailable, "repository agent %s did not finish its initialization: %w", path, context.Cause(ctx))
	}
}

func (s *shared) start() {
	defer close(s.ready)
	s.agent, s.err = library.Open(s.path)
}

// release gives an agent back. After its last model the agent is finalized.
func (l *libraries) release(s *shared) {
	l.mu.Lock()
	s.refs--
	last := s.refs == 0
	if last {
		delete(l.open, s.path)
	}
	l.mu.Unlock()
	if !last {
		return
	}
	if <-s.ready; s.agent == nil {
		return
	}
	done := make(chan error, 1)
	go func() { done <- s.agent.Close() }()
	timer := time.NewTimer(l.limit)
	defer timer.Stop()
	select {
	case err := <-done:
		if err != nil {
			l.log.Error(fmt.Sprintf("~TritonRepoAgent: %s", status.From(err).Text()))
		}
	case <-timer.C:
		l.log.Error(fmt.Sprintf("repository agent %s did not finish its finalization within %s; it is left running", s.path, l.limit))
	}
}
