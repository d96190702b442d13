package trace

import (
	"sync"
	"sync/atomic"

	"triton/pkg/status"
)

// setting is the settings of a model, or of all, at one time, with the sampling
// that goes by them. A change makes a new one; traces under way keep theirs,
// and when the last of them has ended what was collected is written.
type setting struct {
	values // count is where it began
	own    field
	mode   string
	out    *output

	seen atomic.Uint64 // requests
	left atomic.Int64  // of count
	refs atomic.Int64  // the book's, and one per trace

	complain sync.Once // that tensors are asked for in vain

	mu struct {
		sync.Mutex
		pending  []byte // traces to write, joined by commas
		held     uint32 // how many
		finished uint64
	}
}

func newSetting(v values, own field, mode string, out *output) *setting {
	s := &setting{values: v, own: own, mode: mode, out: out}
	s.left.Store(int64(v.count))
	s.refs.Store(1)
	return s
}

// now is the values with the count that is left.
func (s *setting) now() values {
	v := s.values
	v.count = int32(s.left.Load())
	return v
}

// fault says why the setting cannot sample; empty when it can, but for an
// exhausted count.
func (s *setting) fault() string {
	switch {
	case s.level == off:
		return "tracing is disabled"
	case s.rate == 0:
		return "sample rate must be non-zero"
	case s.mode == Triton && s.out.path == "":
		return "trace file name is not given"
	}
	return ""
}

// usable is what a change must leave: a setting that samples, or off.
func (s *setting) usable() error {
	if s.level == off || s.fault() == "" && s.left.Load() != 0 {
		return nil
	}
	return status.New(status.InvalidArg, "Attempting to set invalid trace setting :%s", s.fault())
}

// samples says whether any request may be traced: with OpenTelemetry those with
// a trace of their own always are.
func (s *setting) samples() bool {
	return s.level != off && (s.mode == OpenTelemetry || s.fault() == "" && s.left.Load() != 0)
}

// hit counts a request and says whether it is to be traced.
func (s *setting) hit(forced bool) bool {
	if s.rate == 0 || !forced && s.left.Load() == 0 {
		return forced
	}
	if s.seen.Add(1)%uint64(s.rate) != 0 {
		return forced
	}
	for {
		n := s.left.Load()
		switch {
		case n < 0:
			return true
		case n == 0:
			return forced
		case s.left.CompareAndSwap(n, n-1):
			return true
		}
	}
}

// retain takes a reference; false when the setting is gone.
func (s *setting) retain() bool {
	for {
		n := s.refs.Load()
		if n == 0 {
			return false
		}
		if s.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// release gives a reference back; the last one writes what is left.
func (s *setting) release() {
	if s.refs.Add(-1) == 0 {
		s.flush()
	}
}
