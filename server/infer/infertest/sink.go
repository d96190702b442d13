// Package infertest has sinks, response observers and traces that record what they
// get, or fail. It is for tests only.
package infertest

import (
	"fmt"
	"sync"
	"time"

	"triton/server/infer"
)

// Event is one call of a sink.
type Event struct {
	At    time.Time
	Empty bool   // no response came, but the end of the responses
	Text  string // of the response
	Err   error  // of the response
	Final bool
}

// Sink records the responses of one request and releases them. Set its fields before
// the request is submitted.
type Sink struct {
	// Begin is the time from which Timeline counts; NewSink sets it.
	Begin time.Time
	// Format is the text of a response. The default is "response", or the text of
	// its error.
	Format func(resp *infer.Response) string
	// Before is called first and may panic.
	Before func()
	// Panics is the number of calls that panic before they record anything. All
	// calls do if it is negative.
	Panics int
	// After is called with each event that was recorded.
	After func(e Event)

	done chan struct{}
	mu   struct {
		sync.Mutex
		events []Event
		ends   int
	}
}

// NewSink returns a sink that records everything.
func NewSink() *Sink { return &Sink{Begin: time.Now(), done: make(chan struct{})} }

// Send records a response.
func (s *Sink) Send(resp *infer.Response, final bool) {
	if s.Before != nil {
		s.Before()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Panics != 0 {
		s.Panics--
		panic("a fault of the sink")
	}
	e := Event{At: time.Now(), Empty: resp == nil, Final: final}
	if resp != nil {
		e.Text, e.Err = s.format(resp), resp.Err
		resp.Release()
	}
	s.mu.events = append(s.mu.events, e)
	if s.After != nil {
		s.After(e)
	}
	if final {
		s.mu.ends++
		if s.mu.ends == 1 {
			close(s.done)
		}
	}
}

func (s *Sink) format(resp *infer.Response) string {
	switch {
	case s.Format != nil:
		return s.Format(resp)
	case resp.Err != nil:
		return resp.Err.Error()
	}
	return "response"
}

// Done is closed when the first final response is recorded.
func (s *Sink) Done() <-chan struct{} { return s.done }

// Wait waits for the final response and returns its error.
func (s *Sink) Wait() error {
	<-s.done
	return s.Err()
}

// Events returns what was recorded.
func (s *Sink) Events() []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Event(nil), s.mu.events...)
}

// Ends returns the number of final responses.
func (s *Sink) Ends() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.ends
}

// Err returns the error of the last response.
func (s *Sink) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.mu.events) - 1; i >= 0; i-- {
		if e := s.mu.events[i]; !e.Empty {
			return e.Err
		}
	}
	return nil
}

// Texts returns the events as texts: that of the response, and "final" behind the last
// one.
func (s *Sink) Texts() []string {
	var all []string
	for _, e := range s.Events() {
		all = append(all, e.String())
	}
	return all
}

// Timeline returns the events as texts with the milliseconds since Begin: "150: response
// final".
func (s *Sink) Timeline() []string {
	var all []string
	for _, e := range s.Events() {
		all = append(all, fmt.Sprintf("%d: %s", e.At.Sub(s.Begin).Milliseconds(), e))
	}
	return all
}

func (e Event) String() string {
	switch {
	case !e.Final:
		return e.Text
	case e.Empty:
		return "final"
	}
	return e.Text + " final"
}

// SinkFunc is a sink of one function, which releases the responses.
type SinkFunc func(resp *infer.Response, final bool)

// Send calls the function.
func (f SinkFunc) Send(resp *infer.Response, final bool) { f(resp, final) }

// Discard is a sink that releases all responses.
var Discard = SinkFunc(func(resp *infer.Response, _ bool) {
	if resp != nil {
		resp.Release()
	}
})

// Errors is a sink for several requests. It delivers the error of each final response.
type Errors chan error

// Send delivers the error of a final response.
func (s Errors) Send(resp *infer.Response, final bool) {
	var err error
	if resp != nil {
		err = resp.Err
		resp.Release()
	}
	if final {
		s <- err
	}
}

// Responses is a sink for several requests. It delivers each final response, which the
// receiver releases; nil for one without data.
type Responses chan *infer.Response

// Send delivers a final response.
func (s Responses) Send(resp *infer.Response, final bool) {
	if final {
		s <- resp
	} else if resp != nil {
		resp.Release()
	}
}
