package perf

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"triton/perf/load"
	"triton/pkg/client/lane"
	"triton/pkg/measure"
)

// watcher measures how busy and how late this process is. A probe waits for timers of the kernel
// through the poller of the runtime, as workers wait for responses. How late it runs is how late
// the process notices a response: the time until the kernel runs a thread of the process, until
// that thread polls, and until the goroutine gets a processor. The scheduler's own histogram
// (/sched/latencies of runtime/metrics) has only the last part.
//
// The probe's times are random, with exponential intervals, so that it sees the time average
// (R. Wolff, Poisson arrivals see time averages, Operations Research 30, 1982).
type watcher struct {
	usage func() measure.Usage
	last  measure.Usage
	at    int64 // when last was read
	stop  chan struct{}
	probe sync.WaitGroup
	mu    struct {
		sync.Mutex
		delays []int64
	}
}

// probeInterval is the mean interval of the probe: it takes a thousandth of a processor.
const probeInterval = 10 * time.Millisecond

// watch starts to watch this process. It returns nil, which is a valid watcher, without
// Deps.Usage.
func watch(d Deps) *watcher {
	if d.Usage == nil {
		return nil
	}
	w := &watcher{usage: d.Usage, stop: make(chan struct{})}
	newAlarm := d.Alarm
	if newAlarm == nil {
		newAlarm = load.TimerAlarm
	}
	w.probe.Go(func() {
		alarm := newAlarm(w.stop)
		defer alarm.Close()
		w.run(alarm)
	})
	w.take()
	return w
}

func (w *watcher) run(alarm load.Alarm) {
	rng := rand.New(rand.NewPCG(0, 0))
	for {
		wait := max(time.Microsecond, time.Duration(rng.ExpFloat64()*float64(probeInterval)))
		due := lane.Now() + int64(wait)
		if !alarm.Sleep(wait) {
			return
		}
		delay := max(0, lane.Now()-due)
		w.mu.Lock()
		w.mu.delays = append(w.mu.delays, delay)
		w.mu.Unlock()
	}
}

func (w *watcher) close() {
	if w != nil {
		close(w.stop)
		w.probe.Wait()
	}
}

// processUse is what this process used in a window.
type processUse struct {
	Process
	busy, total time.Duration // of the machine
	delays      []int64
}

// take returns what the process used since the last call.
func (w *watcher) take() *processUse {
	if w == nil {
		return nil
	}
	now, at := w.usage(), lane.Now()
	u := &processUse{busy: now.Busy - w.last.Busy, total: now.Total - w.last.Total}
	u.CPU, u.Cores, u.Duration = now.CPU-w.last.CPU, now.Cores, time.Duration(at-w.at)
	w.last, w.at = now, at
	w.mu.Lock()
	defer w.mu.Unlock()
	u.delays, w.mu.delays = w.mu.delays, nil
	return u
}

// add returns the sum of two windows, either of which may be nil.
func (u *processUse) add(w *processUse) *processUse {
	if u == nil || w == nil {
		return cmp.Or(u, w)
	}
	sum := *u
	sum.CPU += w.CPU
	sum.Duration += w.Duration
	sum.Cores = max(u.Cores, w.Cores)
	sum.busy += w.busy
	sum.total += w.total
	sum.delays = slices.Concat(u.delays, w.delays)
	return &sum
}

// figures returns the figures of a window, nil if the client was not watched.
func (u *processUse) figures() *Process {
	if u == nil {
		return nil
	}
	p := u.Process
	p.Machine = -1
	if u.total > 0 {
		p.Machine = float64(u.busy) / float64(u.total)
	}
	p.Probes = len(u.delays)
	p.Delay = time.Duration(measure.Mean(u.delays))
	p.DelayP99 = time.Duration(measure.PercentileOf(slices.Clone(u.delays), 99))
	return &p
}

// The client limits a level when it uses nearly all of its processor time, or when it notices
// responses so late that this is a tenth of the latency. Delays up to shortDelay are the price of a
// wake-up.
const (
	saturated  = 0.9
	shortDelay = 100 * time.Microsecond
	longDelay  = 0.1 // of the average latency
)

// clientLimit says why the figures are those of the client, and by how much; empty if they are not.
func (s *Summary) clientLimit() string {
	p := s.Process
	if p == nil {
		return ""
	}
	var why []string
	if p.Delay > shortDelay && float64(p.Delay) >= longDelay*float64(s.AvgLatency) {
		// At a random time the delay may be longer than the average latency: a process that does
		// not run for a while delays one response, and sends no other one meanwhile.
		text := fmt.Sprintf("at random times it would have noticed a response %d usec late on average, which is more than the latency", p.Delay.Microseconds())
		if p.Delay < s.AvgLatency {
			text = fmt.Sprintf("it noticed responses %d usec late on average, %.0f %% of the latency",
				p.Delay.Microseconds(), 100*float64(p.Delay)/float64(s.AvgLatency))
		}
		why = append(why, text)
	}
	if len(why) > 0 || p.Busy() >= saturated {
		text := fmt.Sprintf("it used %.2f of %g cores", p.Busy()*p.Cores, p.Cores)
		if p.Machine >= 0 {
			text += fmt.Sprintf(", and the machine was %.0f %% busy", 100*p.Machine)
		}
		why = append(why, text)
	}
	return strings.Join(why, "; ")
}

// ManyLate reports whether more than one in a hundred requests of a schedule started late.
// perf_analyzer warns then.
func (s *Summary) ManyLate() bool {
	return s.Schedule != nil && float64(s.Schedule.Delayed) > 0.01*float64(s.Requests)
}

// lateText says how late the requests of a schedule were; empty if they were not.
func (s *Summary) lateText() string {
	if !s.ManyLate() {
		return ""
	}
	t := s.Schedule
	return fmt.Sprintf("%.1f %% of the requests started more than 1 ms late, on average %d usec",
		100*float64(t.Delayed)/float64(s.Requests), t.AvgLate.Microseconds())
}
