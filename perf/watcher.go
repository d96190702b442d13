package perf

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"triton/perf/load"
	"triton/pkg/client/lane"
	"triton/pkg/measure"
)

// Process says how busy this process was in a window, and how late it noticed responses.
type Process struct {
	CPU      time.Duration // processor time
	Duration time.Duration // of the window
	Cores    float64       // that the process may use
	Machine  float64       // busy share of all processors, by any process; negative: not known
	// Others is the busy share of all processors just before the level, while no request was in flight:
	// what other programs use. It is negative if it is not known.
	Others float64
	// Pace is how fast the machine itself was just before the level, in measure.RoundTrips; 0: not measured.
	Pace float64
	// Delay is the mean time from an event that the process waits for, such as a response, until
	// a goroutine runs that handles it; DelayP99 is its 99th percentile. They are measured with
	// Probes timers of the kernel.
	Delay, DelayP99 time.Duration
	Probes          int
}

// Busy returns the share of the available processor time that the process used.
func (p *Process) Busy() float64 {
	if p.Duration <= 0 || p.Cores <= 0 {
		return 0
	}
	return p.CPU.Seconds() / p.Duration.Seconds() / p.Cores
}

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
	probe := load.Options{Alarm: d.Alarm}
	w.probe.Go(func() {
		alarm := probe.NewAlarm(w.stop)
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

// idleTime is how long the machine is watched before a level.
const idleTime = 100 * time.Millisecond

// others returns the busy share of the processors over idleTime, without this process. It is negative if it
// is not known, or if stop ends first.
func (w *watcher) others(stop <-chan struct{}) float64 {
	if w == nil {
		return -1
	}
	before := w.usage()
	timer := time.NewTimer(idleTime)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-stop:
		return -1
	}
	after := w.usage()
	total := after.Total - before.Total
	if total <= 0 {
		return -1
	}
	busy := after.Busy - before.Busy - (after.CPU - before.CPU)
	return min(1, max(0, busy.Seconds()/total.Seconds()))
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
	p.Machine, p.Others = -1, -1
	if u.total > 0 {
		p.Machine = float64(u.busy) / float64(u.total)
	}
	p.Probes = len(u.delays)
	p.Delay = time.Duration(measure.Mean(u.delays))
	p.DelayP99 = time.Duration(measure.PercentileOf(slices.Clone(u.delays), 99))
	return &p
}
