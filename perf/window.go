package perf

import (
	"context"
	"errors"
	"time"

	"triton/perf/load"
	"triton/pkg/client/lane"
	"triton/pkg/measure"
)

// ErrNoRequests reports a window in which no request completed.
var ErrNoRequests = errors.New("No valid requests recorded within time interval. Please use a larger time window.")

var (
	// errInterrupted ends a wait. It makes a level incomplete (Level.Incomplete), which ends the run
	// without an error (Report.Interrupted): run.level turns it into both where no load runs yet, and
	// endInterrupted where requests are in flight.
	errInterrupted = errors.New("interrupted")
	errNoSnapshot  = errors.New("server statistics: they could not be read at the start of the window")
)

// window is one measurement, or the merged windows of a level.
type window struct {
	samples  []measure.Sample
	from     int64 // its start
	ns       int64 // duration
	span     int64 // from the first start to the last end
	started  uint64
	totals   measure.Totals
	overhead float64
	server   *ServerStats
	gpu      *GPUStats
	process  *processUse // nil if the client is not watched
	errors   uint64      // requests that failed
	// before and after are the server's counters at both ends; nil if they could not be read.
	before, after snapshot
}

func (w *window) to() int64 { return w.from + w.ns }

// windowCursor is where the next window of a level begins, which makes the windows adjacent: each
// begins where the previous one ended.
type windowCursor struct {
	gen         load.Generator
	windowStart int64            // start of the next window
	edges       []int64          // the start of the first window, and the end of each
	later       []measure.Sample // ended after the last window
	// What the generator and the server had counted at windowStart.
	totals   measure.Totals
	started  uint64
	errors   uint64
	counters snapshot // nil if the server's could not be read

	lastError    error
	windowErrors uint64 // requests that failed in the windows
	discarded    int    // requests that completed before the first window
	scraper      *scraper
}

// startWindows discards what was recorded before and takes the first snapshots.
func (r *run) startWindows(ctx context.Context, gen load.Generator) (*windowCursor, error) {
	c := &windowCursor{gen: gen}
	if r.settings.CollectMetrics {
		c.scraper = startScraper(ctx, r.settings.Config, r.notice)
	}
	var err error
	if c.counters, err = r.serverSnapshot(ctx); err != nil {
		c.stop()
		return nil, err
	}
	c.windowStart = lane.Now()
	c.edges = []int64{c.windowStart}
	batch := gen.Collect(nil, c.windowStart)
	c.totals, c.started, c.errors = batch.Totals, batch.Started, batch.Errors
	c.discarded = len(batch.Samples)
	r.watcher.take() // what was before the window
	return c, nil
}

func (c *windowCursor) stop() {
	if c.scraper != nil {
		c.scraper.stop()
	}
}

// measureWindow runs one window to its end or until the interrupt. After an interrupt
// it returns the window so far with errInterrupted.
func (r *run) measureWindow(ctx context.Context, c *windowCursor) (*window, error) {
	waitErr := r.awaitWindowEnd(ctx, c)
	if waitErr != nil && !errors.Is(waitErr, errInterrupted) {
		return nil, waitErr
	}
	w, err := r.closeWindow(ctx, c)
	if err != nil && waitErr != nil {
		return nil, waitErr // the interrupt left nothing to count
	}
	if err != nil {
		return nil, err
	}
	return w, waitErr
}

// awaitWindowEnd waits for the end of the window.
func (r *run) awaitWindowEnd(ctx context.Context, c *windowCursor) error {
	if r.settings.Windows == TimeWindows {
		return r.sleepUnderLoad(ctx, c.gen, windowLength(r.settings.Interval))
	}
	for {
		if err := r.sleepUnderLoad(ctx, c.gen, time.Second); err != nil {
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

// sleepUnderLoad waits for d while the load runs. It returns earlier, with an error, when a worker fails or the run is
// interrupted.
func (r *run) sleepUnderLoad(ctx context.Context, gen load.Generator, d time.Duration) error {
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

// closeWindow ends the window now and returns it.
func (r *run) closeWindow(ctx context.Context, c *windowCursor) (*window, error) {
	w, err := r.collectWindow(ctx, c)
	if err != nil {
		return nil, err
	}
	if len(w.samples) == 0 {
		return nil, ErrNoRequests
	}
	return w, r.setServer(w)
}

// collectWindow ends the window now and returns it without the figures of the server.
func (r *run) collectWindow(ctx context.Context, c *windowCursor) (*window, error) {
	to := lane.Now()
	w := &window{from: c.windowStart, ns: to - c.windowStart, before: c.counters}
	batch := c.gen.Collect(c.later, to)
	w.totals, w.started = batch.Totals.Sub(c.totals), batch.Started-c.started
	w.errors, c.lastError = batch.Errors-c.errors, batch.LastError
	c.totals, c.started, c.errors = batch.Totals, batch.Started, batch.Errors
	c.windowErrors += w.errors
	w.span = measure.Span(batch.Samples)
	w.samples, c.later = measure.Select(batch.Samples, c.windowStart, to, nil)
	if r.settings.Mode == Concurrency { // in the other modes idle workers wait for a time
		w.overhead = overhead(w.ns, batch.InFlight)
	}
	w.process = r.watcher.take()
	r.checkStillLight(w.process)
	c.windowStart = to
	c.edges = append(c.edges, to)
	var err error
	if c.counters, err = r.serverSnapshot(ctx); err != nil {
		return nil, err
	}
	w.after = c.counters
	if c.scraper != nil {
		w.gpu, err = c.scraper.take()
	}
	return w, err
}

// setServer computes what the server did in the window.
func (r *run) setServer(w *window) (err error) {
	if !r.settings.ServerStats {
		return nil
	}
	if w.before == nil {
		return errNoSnapshot
	}
	w.server, err = r.serverDelta(w.before, w.after)
	return err
}

// overhead returns the percentage of a window in which workers had no request in
// flight.
func overhead(duration, inFlight int64) float64 {
	if duration <= 0 || inFlight > duration {
		return 0
	}
	return 100 * float64(duration-inFlight) / float64(duration)
}

// merge merges the windows of a level, at least one.
func merge(windows []*window) *window {
	all := &window{from: windows[0].from, before: windows[0].before, after: windows[len(windows)-1].after}
	var request, send, receive int64
	gauges := make([]*GPUStats, 0, len(windows))
	for _, w := range windows {
		all.samples = append(all.samples, w.samples...)
		all.ns += w.ns
		all.started += w.started
		all.errors += w.errors
		all.process = all.process.add(w.process)
		all.overhead += w.overhead / float64(len(windows))
		if n := int64(w.totals.Completed); n > 0 {
			// perf_analyzer adds means in whole nanoseconds, weighted with n.
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
