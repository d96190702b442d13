package stats

import (
	"maps"
	"slices"
	"time"

	"triton/pkg/inferencepb"
	"triton/server/infer"
)

// Counters is a copy of the counters. They are read one after the other, so concurrent
// updates may be in some of them and not yet in others.
type Counters struct {
	Inferences, Executions                    uint64
	Success, Fail, Queue                      Count
	ComputeInput, ComputeInfer, ComputeOutput Count
	CacheHit, CacheMiss                       Count
	Pending                                   int64
	LastInference                             time.Time               // zero: none yet
	Failures                                  [numFailures]uint64     // by Failure
	Closes                                    [numCloseReasons]uint64 // by CloseReason
	Sizes                                     []Size                  // ascending
}

// Count is a number of events and the sum of their durations.
type Count struct{ Count, Ns uint64 }

// Size holds the executions of one batch size.
type Size struct {
	Rows                 int
	Count                uint64
	Input, Infer, Output uint64 // ns
}

// Counters returns all counters, summed over all devices.
func (m *Model) Counters() Counters {
	var c Counters
	for _, p := range m.devices() {
		p.addTo(&c)
	}
	m.addTo(&c)
	return c
}

// Requests returns the number of requests that were answered, with success or not.
func (m *Model) Requests() (n uint64) {
	for _, p := range m.devices() {
		n += p.success.count.Load() + p.fail.count.Load()
	}
	return n
}

// addTo adds the counters that exist once for the model and not by device.
func (m *Model) addTo(c *Counters) {
	c.Pending = m.Pending.Load()
	if at := m.latest.Load(); at != 0 {
		c.LastInference = time.Now().Add(time.Duration(at - infer.Now()))
	}
	c.CacheHit, c.CacheMiss = m.hits.read(), m.misses.read()
	for i := range c.Closes {
		c.Closes[i] = m.closed[i].Load()
	}
	for rows := range m.sizes {
		c.add(rows, &m.sizes[rows])
	}
	m.rare.Lock()
	defer m.rare.Unlock()
	for _, rows := range slices.Sorted(maps.Keys(m.rare.sizes)) {
		c.add(rows, m.rare.sizes[rows])
	}
}

func (c *Counters) add(rows int, s *sizeCounts) {
	if n := s.count.Load(); n != 0 {
		c.Sizes = append(c.Sizes, Size{rows, n, s.input.Load(), s.infer.Load(), s.output.Load()})
	}
}

// Snapshot returns the counters in the form of the protocol's statistics calls.
func (m *Model) Snapshot() *inferencepb.ModelStatistics {
	c := m.Counters()
	s := &inferencepb.ModelStatistics{
		Name: m.name, Version: m.version,
		InferenceCount: c.Inferences, ExecutionCount: c.Executions,
		InferenceStats: &inferencepb.InferStatistics{
			Success: c.Success.proto(), Fail: c.Fail.proto(), Queue: c.Queue.proto(),
			ComputeInput: c.ComputeInput.proto(), ComputeInfer: c.ComputeInfer.proto(), ComputeOutput: c.ComputeOutput.proto(),
			CacheHit: c.CacheHit.proto(), CacheMiss: c.CacheMiss.proto(),
		},
	}
	if !c.LastInference.IsZero() {
		s.LastInference = uint64(c.LastInference.UnixMilli())
	}
	s.ResponseStats = m.responses.snapshot()
	for _, size := range c.Sizes {
		s.BatchStats = append(s.BatchStats, &inferencepb.InferBatchStatistics{
			BatchSize:     uint64(size.Rows),
			ComputeInput:  Count{size.Count, size.Input}.proto(),
			ComputeInfer:  Count{size.Count, size.Infer}.proto(),
			ComputeOutput: Count{size.Count, size.Output}.proto(),
		})
	}
	return s
}

func (c Count) proto() *inferencepb.StatisticDuration {
	return &inferencepb.StatisticDuration{Count: c.Count, Ns: c.Ns}
}
