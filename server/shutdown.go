package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"triton/pkg/status"
)

// closeGrace is how much longer than the exit timeout connections live, so that clients
// get the errors of their requests.
const closeGrace = time.Second

// stop stops accepting connections, answers requests over open ones until nothing is in
// flight, closes idle connections and then everything else. All steps share one
// timeout.
func (s *Server) stop(frontends []portServer) error {
	timeout := time.Duration(s.exitTimeout.Load())
	ctx, cancel := context.WithTimeout(s.drainCtx, timeout)
	defer cancel()
	late, cancelLate := context.WithTimeout(s.drainCtx, timeout+closeGrace)
	defer cancelLate()
	s.opts.Log.Info("Waiting for in-flight requests to complete.")
	s.models.FinishSequences(ctx)
	s.models.Exit()
	// The metrics endpoint, the last one, stays open until the models are
	// closed.
	services, last := frontends, []portServer(nil)
	if n := len(frontends) - 1; n >= 0 {
		if _, ok := frontends[n].(*metricsFrontend); ok {
			services, last = frontends[:n], frontends[n:]
		}
	}
	stopReports := s.reportWaiting(ctx, frontends)
	drained := each(services, func(f portServer) { f.drain(late) })
	waitEither(drained, ctx.Done())
	closed := each(services, func(f portServer) { f.close(late) })
	waitEither(closed, ctx.Done())
	stopReports()
	err := s.models.Drain(ctx)
	s.isolation.Close()
	<-drained
	<-closed
	<-each(last, func(f portServer) { f.close(ctx) })
	err = errors.Join(err, s.tracer.Shutdown(s.drainCtx), s.regions.Close(), s.closeCache(), s.remote.close())
	switch {
	case s.killed.Load():
		return ErrKilled
	case ctx.Err() != nil:
		return fmt.Errorf("failed to stop server: %w", consoleError{status.From(ErrExitTimeout)})
	}
	return err
}

// each calls do for all frontends concurrently; the channel is closed when all calls
// have returned.
func each(frontends []portServer, do func(portServer)) <-chan struct{} {
	done := make(chan struct{})
	var wg sync.WaitGroup
	for _, f := range frontends {
		wg.Go(func() { do(f) })
	}
	go func() {
		wg.Wait()
		close(done)
	}()
	return done
}

// waitEither waits for the first of two channels to be closed.
func waitEither(a, b <-chan struct{}) {
	select {
	case <-a:
	case <-b:
	}
}

// reportWaiting logs every second which frontends still have requests. The returned
// function stops it.
func (s *Server) reportWaiting(ctx context.Context, frontends []portServer) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				left, _ := ctx.Deadline()
				for _, f := range frontends {
					if n, what := f.waiting(); n > 0 {
						s.opts.Log.Info(fmt.Sprintf("Timeout %d: Found %d %s", max(int(time.Until(left).Round(time.Second).Seconds()), 0), n, what))
					}
				}
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
	}
}
