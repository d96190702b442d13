package perf

import (
	"fmt"
	"math"
	"time"

	"triton/perf/data"
	"triton/perf/load"
	"triton/pkg/client/lane"
)

// fixedRate is the rate of a fixed schedule in reports. perf_analyzer prints it too: its
// default rate, as the schedule has none.
const fixedRate = 1

// loadData reads or generates the input data. With a fixed schedule the data decides how many
// requests the run has.
func (r *run) loadData() error {
	s := &r.settings
	s.Data.Seed, s.Data.Timestamps, s.Data.Sessions = s.Seed, s.Mode == FixedSchedule, s.Mode == Sessions
	var err error
	if r.set, err = data.Load(s.Data, r.model.signature); err != nil {
		return err
	}
	for _, text := range r.set.PassedOver {
		r.warn("%s", text)
	}
	switch s.Mode {
	case Sessions:
		return r.loadSessions()
	case Periodic:
		s.RequestCount = int(s.Range.End)
		return nil
	case FixedSchedule:
		return r.loadSchedule()
	}
	return nil
}

// loadSchedule counts the requests of a fixed schedule.
func (r *run) loadSchedule() error {
	s := &r.settings
	entries := len(r.set.Streams[0])
	if s.WarmupCount >= entries {
		return ErrWarmupCount
	}
	s.RequestCount = entries - s.WarmupCount
	s.Windows, s.Samples = CountWindows, s.RequestCount
	return nil
}

// checkSchedule refuses options and models that contradict a fixed schedule.
func (r *run) checkSchedule() error {
	if r.settings.Mode == FixedSchedule && r.model.sequence {
		return fmt.Errorf("can not use a fixed schedule with the sequence model %s", r.model.signature.Model)
	}
	return nil
}

// entries is a Source of the requests of a fixed schedule, each of which is sent once.
type entries struct {
	prepared []*lane.Prepared
	times    []time.Duration
	// first is the entry of request 0 of the level, next that of the next level. They change
	// only while no request is due.
	first, next int
}

var _ load.Source = (*entries)(nil)

func newEntries(prepared []*lane.Prepared, times []time.Duration) *entries {
	return &entries{prepared: prepared, times: times}
}

// faster divides times by a speed.
func faster(times []time.Duration, speed float64) []time.Duration {
	if speed == 0 || speed == 1 {
		return times
	}
	for i, t := range times {
		times[i] = time.Duration(min(float64(t)/speed, math.MaxInt64/2))
	}
	return times
}

// take returns the schedule of the next n entries. The times are those of the data also after
// warm-up requests, as in perf_analyzer.
func (e *entries) take(n int) load.Schedule {
	e.first, e.next = e.next, e.next+n
	return load.At(e.times[e.first:e.next])
}

// Next sets r to request n of the level.
func (e *entries) Next(_ int, n uint64, r *load.Request) {
	r.Step = e.first + int(n)
	r.Prepared = e.prepared[r.Step]
}

// Finish reports that nothing is open.
func (e *entries) Finish(int, *load.Request) bool { return false }
