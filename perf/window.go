package perf

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"triton/perf/load"
	"triton/pkg/client/lane"
	"triton/pkg/measure"
)

// ErrNoRequests reports a window in which no request completed.
var ErrNoRequests = errors.New("No valid requests recorded within time interval. Please use a larger time window.")

var errInterrupted = errors.New("interrupted")

// window is one measurement, or the merged windows of a level.
type window struct {
	latencies []int64
	ns        int64 // duration
	span      int64 // from the first start to the last end
	totals    measure.Totals
	overhead  float64
	server    *ServerStats
	gpu       *GPUStats
}

// levelClock makes the windows of a level adjacent: each begins where the previous one ended.
type levelClock struct {
	gen         *load.Generator
	windowStart int64            // start of the next window
	later       []measure.Sample // ended after the last window
	totals      measure.Totals
	before      snapshot // of the server at from
	scraper     *scraper
}

// startClock discards what was recorded before and takes the first snapshots.
func (r *run) startClock(ctx context.Context, gen *load.Generator) (*levelClock, error) {
	c := &levelClock{gen: gen}
	if r.settings.CollectMetrics {
		c.scraper = startScraper(ctx, r.settings.Config, r.notice)
	}
	var err error
	if c.before, err = r.serverSnapshot(ctx); err != nil {
		c.stop()
		return nil, err
	}
	c.windowStart = lane.Now()
	c.totals = gen.Collect(nil, c.windowStart).Totals
	return c, nil
}

func (c *levelClock) stop() {
	if c.scraper != nil {
		c.scraper.stop()
	}
}

// measure runs one window to its end or until the interrupt. After an interrupt
// it returns the window so far with errInterrupted.
func (r *run) measure(ctx context.Context, c *levelClock) (*window, error) {
	waitErr := r.wait(ctx, c)
	if waitErr != nil && !errors.Is(waitErr, errInterrupted) {
		return nil, waitErr
	}
	w, err := r.endWindow(ctx, c)
	if err != nil && waitErr != nil {
		return nil, waitErr // the interrupt left nothing to count
	}
	if err != nil {
		return nil, err
	}
	return w, waitErr
}

// wait waits for the end of the window.
func (r *run) wait(ctx context.Context, c *levelClock) error {
	if r.settings.Windows == TimeWindows {
		return r.pause(ctx, c.gen, windowLength(r.settings.Interval))
	}
	for {
		if err := r.pause(ctx, c.gen, time.Second); err != nil {
			return err
		}
		if c.gen.Pending() >= r.settings.Samples {
			return nil
		}
		if err := c.gen.Err(); err != nil {
			return err
		}
	}
}

// windowLength returns the length of a window for an interval, as perf_analyzer
// computes it.
func windowLength(interval time.Duration) time.Duration {
	return time.Duration(float64(interval.Milliseconds())*1.2) * time.Millisecond
}

// pause waits for d. It returns earlier, with an error, when a worker fails or the run is
// interrupted.
func (r *run) pause(ctx context.Context, gen *load.Generator, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-gen.Failed():
		return gen.Err()
	case <-r.deps.Interrupt:
		return errInterrupted
	case <-ctx.Done():
		return ctx.Err()
	}
}

// endWindow ends the window now and returns it.
func (r *run) endWindow(ctx context.Context, c *levelClock) (*window, error) {
	to := lane.Now()
	w := &window{ns: to - c.windowStart}
	batch := c.gen.Collect(c.later, to)
	w.totals = batch.Totals.Sub(c.totals)
	c.totals = batch.Totals
	w.span = measure.Span(batch.Samples)
	w.latencies, c.later = measure.Select(batch.Samples, c.windowStart, to, nil)
	w.overhead = overhead(w.ns, batch.Waited)
	c.windowStart = to
	if c.scraper != nil {
		var err error
		if w.gpu, err = c.scraper.take(); err != nil {
			return nil, err
		}
	}
	before := c.before
	var err error
	if c.before, err = r.serverSnapshot(ctx); err != nil {
		return nil, err
	}
	if len(w.latencies) == 0 {
		return nil, ErrNoRequests
	}
	if r.settings.ServerStats {
		w.server, err = r.serverDelta(before, c.before)
	}
	return w, err
}

// overhead returns the percentage of a window in which workers had no request in
// flight.
func overhead(duration, waited int64) float64 {
	if duration <= 0 || waited > duration {
		return 0
	}
	return 100 * float64(duration-waited) / float64(duration)
}

// merge merges the windows of a level.
func merge(windows []*window) *window {
	all := &window{}
	var request, send, receive int64
	gauges := make([]*GPUStats, 0, len(windows))
	for _, w := range windows {
		all.latencies = append(all.latencies, w.latencies...)
		all.ns += w.ns
		all.overhead += w.overhead / float64(len(windows))
		// perf_analyzer weights the integer average of each window by its requests.
		if n := int64(w.totals.Completed); n > 0 {
			request += w.totals.Request / n * n
			send += w.totals.Send / n * n
			receive += w.totals.Receive / n * n
			all.totals.Completed += w.totals.Completed
		}
		if w.server != nil {
			all.server = addServer(all.server, w.server)
		}
		gauges = append(gauges, w.gpu)
	}
	all.gpu = meanGPU(gauges)
	all.totals.Request, all.totals.Send, all.totals.Receive = request, send, receive
	return all
}

// summarize computes the figures of a window.
func (r *run) summarize(w *window, batch int) Summary {
	s := Summary{
		Requests: len(w.latencies),
		Duration: time.Duration(w.ns),
		Overhead: w.overhead,
		Server:   w.server,
		GPU:      w.gpu,
		StdDev:   math.MaxUint64,
	}
	s.Throughput = measure.Throughput(uint64(s.Requests)*uint64(max(batch, 1)), w.ns)
	slices.Sort(w.latencies)
	s.AvgLatency = time.Duration(measure.Mean(w.latencies))
	s.StdDev = measure.StdDevMicros(w.latencies)
	if s.Requests == 1 {
		r.notice("WARNING: Pass contained only one request, so sample latency standard deviation will be infinity (UINT64_MAX).")
	}
	for _, p := range percentiles(r.settings.Percentile) {
		s.Percentiles = append(s.Percentiles, Percentile{p, time.Duration(measure.Percentile(w.latencies, p))})
	}
	s.Stabilizing = s.AvgLatency
	if p := r.settings.Percentile; p > 0 {
		s.Stabilizing = s.Latency(p)
	}
	if n := int64(w.totals.Completed); n > 0 {
		s.Client = ClientTimes{
			Completed: w.totals.Completed,
			Request:   time.Duration(w.totals.Request / n),
			Send:      time.Duration(w.totals.Send / n),
			Receive:   time.Duration(w.totals.Receive / n),
		}
	}
	return s
}

func percentiles(extra int) []int {
	ps := []int{50, 90, 95, 99}
	if extra > 0 && !slices.Contains(ps, extra) {
		ps = append(ps, extra)
		slices.Sort(ps)
	}
	return ps
}
