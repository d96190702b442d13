package search

import (
	"fmt"
	"iter"

	"triton/analyzer/trial"
)

// algorithm is a search written as a function: it measures one proposal after another, and returns why it
// ended. It ends at once when a measurement is not ok, whatever it returns then. start turns it inside out, so
// that the profile asks for proposals and brings their results.
type algorithm func(*measurer) (reason string)

// Search is a running algorithm. It is not safe for use by several goroutines.
type Search struct {
	t      *measurer
	next   func() (trial.Proposal, bool)
	stop   func()
	reason string
}

// start returns a search with an algorithm, which runs within the calls of Next.
func start(o Options, algorithm algorithm) *Search {
	s := &Search{t: &measurer{Options: o, known: map[string]*trial.Result{}}}
	s.next, s.stop = iter.Pull(func(yield func(trial.Proposal) bool) {
		stopped := false
		s.t.yield = func(p trial.Proposal) bool {
			stopped = stopped || !yield(p)
			return !stopped
		}
		reason := algorithm(s.t)
		if stopped {
			reason = "the search was stopped"
		}
		if n := s.t.skipped; n > 0 {
			reason += fmt.Sprintf("; %d proposals were not run because they do not fit the memory", n)
		}
		s.reason = reason
	})
	return s
}

// Next returns the next proposal, or false if the search has ended. last is the result of the
// proposal before, nil at first.
func (s *Search) Next(last *trial.Result) (trial.Proposal, bool) {
	s.t.last = last
	return s.next()
}

// Reason says why the search has ended.
func (s *Search) Reason() string { return s.reason }

// Stop ends a search of which no further proposal is wanted. A search that has ended by itself
// need not be stopped.
func (s *Search) Stop() { s.stop() }
