package server

import (
	"fmt"
	"time"
)

// lameDuck serves on, unready, for the drain delay, so that load balancers
// notice before any connection is refused. In the second half of the delay HTTP replies end their
// connections, so that few idle ones are left to close. Kill ends the delay.
func (s *Server) lameDuck(frontends []portServer) {
	delay := s.opts.DrainDelay
	if delay <= 0 || s.drainCtx.Err() != nil {
		return
	}
	s.delaying.Store(true)
	defer s.delaying.Store(false)
	s.opts.Log.Info(fmt.Sprintf("The server is not ready any more. It accepts requests for another %v.", delay))
	if !s.pause(delay / 2) {
		return
	}
	for _, f := range frontends {
		if f, ok := f.(interface{ leave() }); ok {
			f.leave()
		}
	}
	s.pause(delay - delay/2)
}

// pause waits, and reports false if the delay was ended.
func (s *Server) pause(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-s.hurry:
	case <-s.drainCtx.Done():
	}
	return false
}

// Hurry ends the drain delay, so that the shutdown goes on to wait for the requests in flight. It
// reports whether the delay had not ended yet.
func (s *Server) Hurry() bool {
	if !s.delaying.Load() {
		return false
	}
	select {
	case s.hurry <- struct{}{}:
	default: // it was asked for already
	}
	return true
}
