package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"triton/pkg/status"
	"triton/server/repository"
)

// keepUpToDate keeps the models and the settings up to date until the returned function is called: it loads them, if
// the ports were opened first, repeats a start that failed, and then polls the repositories in
// poll control, or follows the fleet state. A start that ends the server is sent to failed.
func (s *Server) keepUpToDate(failed chan<- error) (stop func()) {
	every := time.Duration(0)
	if c := s.opts.Models.Control; c == repository.ControlPoll || c == repository.ControlAuto {
		every = s.opts.Models.PollInterval
	}
	loading := s.opts.ServeWhileLoading
	state := s.opts.State.From != ""
	if every <= 0 && s.models.Failure() == nil && !loading && !state {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if loading {
			err := s.load(ctx)
			if err == nil {
				err = s.applyFleetState(ctx)
			}
			if err != nil {
				failed <- err
				return
			}
		}
		switch started := s.retryStart(ctx); {
		case !started:
		case state:
			s.fleet.Run(ctx)
		case every > 0:
			s.poll(ctx, every)
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

// The first repetition of a start comes soon: a volume that is mounted, or a network that comes up.
const (
	firstRetry = time.Second
	maxRetry   = 30 * time.Second
)

// retryStart repeats a start that failed until it succeeds. It reports false if ctx ended before.
// Failures for the same reason are logged once.
func (s *Server) retryStart(ctx context.Context) bool {
	err := s.models.Failure()
	for wait := firstRetry; err != nil; wait = min(2*wait, maxRetry) {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(wait):
		}
		again := s.models.Start(ctx)
		switch {
		case ctx.Err() != nil:
			return false
		case again == nil || errors.Is(again, repository.ErrLoad):
			s.opts.Log.Info("the server has started: what failed before is corrected: " + failureText(err))
			s.logModels()
			return true
		case again.Error() != err.Error():
			s.opts.Log.Error(failureText(again) + ": the server is not live until this is corrected")
		}
		err = again
	}
	return true
}

// failureText formats an error of the start as Triton's log does.
func failureText(err error) string {
	e := status.From(err)
	return e.Code.String() + ": " + e.Msg
}

// poll keeps the models as the repositories are until ctx ends.
func (s *Server) poll(ctx context.Context, every time.Duration) {
	s.models.KeepPolling(ctx, every, func(err error) {
		s.opts.Log.Error(fmt.Sprintf("failed to poll model repository: %s", consoleError{status.From(err)}))
	})
}
