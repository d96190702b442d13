package fleet

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Status is the condition of the fleet state, for reports.
type Status struct {
	Source     string `json:"source"`
	Generation int64  `json:"generation"`
	// Applied reports whether every action of a document was tried at least once.
	Applied bool `json:"applied"`
	// Cached reports whether the document is the copy of an earlier start.
	Cached bool `json:"cached,omitempty"`
	// LastSuccess is when the server last was as the document says.
	LastSuccess *time.Time `json:"last_success,omitempty"`
	// ReadError is why the source cannot be read; the last good document is in force.
	ReadError string `json:"read_error,omitempty"`
	// Failures are the actions that failed. They are repeated.
	Failures []string `json:"failures,omitempty"`
	// Errors is the number of failed reads and of looks with failed actions.
	Errors int64 `json:"errors"`
}

// condition records the results of Sync.
type condition struct {
	cached  atomic.Bool
	mu      sync.Mutex
	tried   bool // every action of a document, at least once
	success time.Time
	readErr string
	failed  []string
	errors  int64
}

// recordRead records the result of reading the source. An error is logged once.
func (s *condition) recordRead(err error, log *slog.Logger) {
	s.mu.Lock()
	defer s.mu.Unlock()
	reason := ""
	if err != nil {
		reason = err.Error()
		s.errors++
	}
	if reason != s.readErr {
		if reason != "" {
			log.Error(reason)
		} else {
			log.Info("the state can be read again")
		}
	}
	s.readErr = reason
}

// recordApply records that all actions of a document were tried.
func (s *condition) recordApply(failed []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tried, s.failed = true, failed
	if len(failed) > 0 {
		s.errors++
		return
	}
	s.success = time.Now()
}

// Status returns the condition of the fleet state.
func (c *Controller) Status() Status {
	s := Status{Cached: c.cached.Load()}
	if c.source != nil {
		s.Source = c.source.name()
	}
	if d := c.document.Load(); d != nil {
		s.Generation = d.Generation
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.Applied, s.ReadError, s.Failures, s.Errors = c.tried, c.readErr, c.failed, c.errors
	if !c.success.IsZero() {
		at := c.success.UTC()
		s.LastSuccess = &at
	}
	return s
}

// Reasons returns why the server must not be ready as far as the document says. With all, every
// model of the document has to serve, but not those that requests load.
func (c *Controller) Reasons(all bool) (reasons []string) {
	if c.source == nil {
		return nil
	}
	c.mu.Lock()
	applied, readErr := c.tried, c.readErr
	c.mu.Unlock()
	d := c.document.Load()
	switch {
	case d == nil && readErr != "":
		return []string{"there is no state yet: " + readErr}
	case !applied:
		return []string{"the state was not applied yet"}
	case !all:
		return nil
	}
	serves := map[string]bool{}
	for _, m := range c.opts.Models.Loaded() {
		serves[m.Name] = m.Serves
	}
	for _, name := range d.Names() {
		if !serves[name] && c.needed(name) {
			reasons = append(reasons, "model '"+name+"' of the state is not ready")
		}
	}
	return reasons
}
