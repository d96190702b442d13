package trace

import (
	"sync"
	"sync/atomic"

	"triton/pkg/status"
)

// sampler samples the requests of a model, or of all models without one, by settings that do not
// change: new settings make a new sampler. Traces in flight keep their sampler. It collects them
// and writes the rest when the last one has ended.
type sampler struct {
	values       // count is the initial one
	own    field // settings that are not inherited
	mode   string
	out    *output

	seen atomic.Uint64 // requests
	left atomic.Int64  // traces that count still allows
	refs atomic.Int64  // one of the snapshot, and one per trace

	warnTensors sync.Once // logs that the mode records no tensors

	mu struct {
		sync.Mutex
		pending  []byte // traces to write, joined by commas
		held     uint32 // number of pending traces
		finished uint64 // number of all ended traces
	}
}

func newSampler(v values, own field, mode string, out *output) *sampler {
	s := &sampler{values: v, own: own, mode: mode, out: out}
	s.left.Store(int64(v.count))
	s.refs.Store(1)
	return s
}

// effective returns the settings with the remaining count.
func (s *sampler) effective() values {
	v := s.values
	v.count = int32(s.left.Load())
	return v
}

// problem returns why the settings cannot sample. It is empty when they can or the count is used up.
func (s *sampler) problem() string {
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

// usable returns an error if the settings are on but cannot sample. A change that leads to such
// settings is refused.
func (s *sampler) usable() error {
	if s.level == off || s.problem() == "" && s.left.Load() != 0 {
		return nil
	}
	return status.New(status.InvalidArg, "Attempting to set invalid trace setting :%s", s.problem())
}

// enabled reports whether any request may be traced. In the mode opentelemetry requests with a
// trace context always are.
func (s *sampler) enabled() bool {
	return s.level != off && (s.mode == OpenTelemetry || s.problem() == "" && s.left.Load() != 0)
}

// sample counts a request and reports whether to trace it. A forced request is always traced.
func (s *sampler) sample(forced bool) bool {
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

// retain takes a reference. It reports false when the last one was released before.
func (s *sampler) retain() bool {
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

// release releases a reference; the last one writes what is pending.
func (s *sampler) release() {
	if s.refs.Add(-1) == 0 {
		s.flush()
	}
}
