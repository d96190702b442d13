package perf

import (
	"slices"
	"time"

	"triton/pkg/client/lane"
	"triton/pkg/measure"
)

// Detail is the course of a level: its windows, and the latencies of the windows that its
// Summary counts.
type Detail struct {
	Start     time.Time // of the first window
	Windows   []Window  // the last maxWindows
	Timeline  []Moment
	Histogram []measure.Bucket // of latencies in nanoseconds, without empty buckets
}

// Window is one window of a level. One that failed has an Err and no figures.
type Window struct {
	Start       time.Duration // since the start of the first window
	Duration    time.Duration
	Requests    int
	Throughput  float64       // inferences per second
	Stabilizing time.Duration // latency that decides stability
	Counted     bool          // the level's Summary has its requests
	Err         error
}

// Moment is a short part of a level. The moments of a window have equal durations and follow
// one another; a request belongs to the moment in which it ended.
type Moment struct {
	Start       time.Duration // since the start of the first window
	Duration    time.Duration
	Requests    int
	AvgLatency  time.Duration
	Percentiles []Percentile // those of the Summary; without requests none
}

const (
	// maxWindows bounds Detail.Windows.
	maxWindows = 1000
	// maxMoments bounds Detail.Timeline. Thirty batches are the number beyond which intervals
	// of batch means hardly improve (Schmeiser, Operations Research 30(3), 1982).
	maxMoments = 30
	// momentRequests is the mean number of requests of a moment, where the level has enough
	// for several moments in each window: fewer have no p99.
	momentRequests = 100
)

// Samples are the requests that ended in a window, From to To on one clock in nanoseconds.
type Samples struct {
	From, To int64
	List     []measure.Sample
}

// Timeline divides windows into moments, at least one for each window. Start is counted from
// the time start, and percentiles are those of ps.
func Timeline(windows []Samples, start int64, ps []float64) []Moment {
	requests := 0
	for i := range windows {
		requests += len(windows[i].List)
	}
	parts := max(1, min(maxMoments, requests/momentRequests)/max(1, len(windows)))
	var all []Moment
	for i := range windows {
		all = append(all, windows[i].moments(parts, start, ps)...)
	}
	return all
}

func (w *Samples) moments(parts int, start int64, ps []float64) []Moment {
	length := (w.To - w.From) / int64(parts)
	if length <= 0 {
		parts, length = 1, w.To-w.From
	}
	latencies := make([][]int64, parts)
	for _, s := range w.List {
		i := 0
		if length > 0 {
			i = int(min(max(0, (s.End-w.From)/length), int64(parts-1)))
		}
		latencies[i] = append(latencies[i], s.Latency)
	}
	all := make([]Moment, parts)
	for i, list := range latencies {
		m := &all[i]
		m.Start, m.Duration = time.Duration(w.From-start+int64(i)*length), time.Duration(length)
		m.Requests = len(list)
		if m.Requests > 0 {
			m.AvgLatency, m.Percentiles = sortLatencies(list, ps)
		}
	}
	return all
}

// Histogram counts the latencies of windows in buckets.
func Histogram(windows []Samples) []measure.Bucket {
	var c measure.Counts
	for i := range windows {
		for _, s := range windows[i].List {
			c.Add(s.Latency)
		}
	}
	return c.Buckets()
}

// sortLatencies sorts latencies and returns their mean and percentiles.
func sortLatencies(list []int64, ps []float64) (mean time.Duration, all []Percentile) {
	slices.Sort(list)
	for _, p := range ps {
		all = append(all, Percentile{P: p, Latency: time.Duration(measure.Percentile(list, p)), Samples: len(list)})
	}
	return time.Duration(measure.Mean(list)), all
}

// addWindow adds the window that just ended; s is nil if it failed.
func (d *Detail) addWindow(c *windowCursor, s *Summary, err error) {
	w := Window{Err: err}
	if n := len(c.edges); n > 1 {
		w.Start = time.Duration(c.edges[n-2] - c.edges[0])
		w.Duration = time.Duration(c.edges[n-1] - c.edges[n-2])
	}
	if s != nil {
		w.Requests, w.Throughput, w.Stabilizing = s.Requests, s.Throughput, s.Stabilizing
	}
	if len(d.Windows) == maxWindows {
		d.Windows = slices.Delete(d.Windows, 0, 1)
	}
	d.Windows = append(d.Windows, w)
}

// count completes the detail of a level with the part of it that its Summary counts: windows that
// follow one another, merged.
func (d *Detail) count(c *windowCursor, part *window, ps []float64) {
	d.Start = time.Now().Add(-time.Duration(lane.Now() - c.edges[0]))
	from := time.Duration(part.from - c.edges[0])
	for i := range d.Windows {
		w := &d.Windows[i]
		w.Counted = w.Err == nil && w.Start >= from
	}
	counted := []Samples{{From: part.from, To: part.to(), List: part.samples}}
	d.Timeline, d.Histogram = Timeline(counted, c.edges[0], ps), Histogram(counted)
}
