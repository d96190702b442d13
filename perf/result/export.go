package result

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"triton/perf"
	"triton/pkg/measure"
)

// export is the part of perf_analyzer's profile export that the figures need. Times are
// nanoseconds since the epoch.
type export struct {
	Experiments []experiment `json:"experiments"`
	Version     string       `json:"version"`
	ServiceKind string       `json:"service_kind"`
}

type experiment struct {
	Experiment struct {
		Mode  string  `json:"mode"`
		Value float64 `json:"value"`
	} `json:"experiment"`
	Requests []struct {
		Timestamp int64   `json:"timestamp"`
		Responses []int64 `json:"response_timestamps"`
	} `json:"requests"`
	Windows []uint64 `json:"window_boundaries"`
}

// exportPercentiles are perf_analyzer's.
var exportPercentiles = []float64{50, 90, 95, 99}

// countedWindows is how many windows perf_analyzer's figures count: the last ones.
const countedWindows = 3

func readExport(src []byte) (*File, error) {
	var e export
	if err := decode(src, &e); err != nil {
		return nil, err
	}
	f := &File{
		Format: Format, Version: Version,
		Program:  Program{Name: "perf_analyzer", Version: e.Version},
		Settings: Settings{ServiceKind: e.ServiceKind, Mode: Concurrency},
		Levels:   []Level{},
	}
	for i := range e.Experiments {
		x := &e.Experiments[i]
		switch x.Experiment.Mode {
		case "concurrency":
		case "request_rate":
			f.Settings.Mode = RequestRate
		default:
			return nil, fmt.Errorf("experiments[%d]: the mode %q is not known", i, x.Experiment.Mode)
		}
		l, err := x.level(i + 1)
		if err != nil {
			return nil, fmt.Errorf("experiments[%d]: %w", i, err)
		}
		f.Levels = append(f.Levels, *l)
	}
	if len(f.Levels) > 0 {
		f.Created = f.Levels[0].Started
	}
	return f, f.validate()
}

// level computes the figures of an experiment as perf_analyzer does: over the last three
// windows, from the requests that ended in them.
func (x *experiment) level(number int) (*Level, error) {
	samples, err := x.samples()
	if err != nil {
		return nil, err
	}
	l := &Level{Number: number, Load: x.Experiment.Value, Stable: true, Client: Client{}}
	if !(l.Load >= 0) {
		return nil, fmt.Errorf("the load %g is negative", l.Load)
	}
	if len(samples) == 0 {
		return l, nil
	}
	edges := x.edges()
	if len(edges) < 2 {
		edges = []int64{samples[0].Start(), samples[len(samples)-1].End}
	}
	if span := edges[len(edges)-1] - edges[0]; span < 0 || span > int64(24*time.Hour*366) {
		return nil, errors.New("the window boundaries are more than a year apart")
	}
	l.Trials, l.Started = len(edges)-1, time.Unix(0, edges[0]).UTC()
	counted := edges[max(0, len(edges)-1-countedWindows):]
	var windows []perf.Samples
	var latencies []int64
	for i, to := range counted[1:] {
		w := perf.Samples{From: counted[i], To: to}
		w.List, samples = measure.Select(samples, w.From, w.To, nil)
		windows = append(windows, w)
		for _, s := range w.List {
			latencies = append(latencies, s.Latency)
		}
	}
	ns := counted[len(counted)-1] - counted[0]
	l.Requests, l.DurationS = len(latencies), time.Duration(ns).Seconds()
	l.Throughput = measure.Throughput(uint64(len(latencies)), ns)
	if l.Requests == 0 {
		return l, nil
	}
	slices.Sort(latencies)
	l.Latency.AvgUs = float64(measure.Mean(latencies)) / 1000
	l.Latency.MaxUs = float64(latencies[len(latencies)-1]) / 1000
	for _, p := range exportPercentiles {
		l.Latency.Percentiles = append(l.Latency.Percentiles, Percentile{P: p, Us: float64(measure.Percentile(latencies, p)) / 1000, Requests: len(latencies)})
	}
	if std := measure.StdDevMicros(latencies); std != math.MaxUint64 {
		deviation := float64(std)
		l.StdDevUs = &deviation
	}
	l.DecidingUs = l.Latency.AvgUs
	l.Timeline = timeline(perf.Timeline(windows, edges[0], exportPercentiles))
	l.Histogram = histogram(perf.Histogram(windows))
	return l, nil
}

// edges returns the window boundaries, in their order. There are none in runs of --request-count of
// old versions, and in those that have the limits of the numbers in their place: periodic and
// session concurrency.
func (x *experiment) edges() []int64 {
	var edges []int64
	for _, t := range x.Windows {
		if t > math.MaxInt64 {
			return nil
		}
		edges = append(edges, int64(t))
	}
	slices.Sort(edges)
	return slices.Compact(edges)
}

// samples returns the requests that were answered, in the order of their ends.
func (x *experiment) samples() ([]measure.Sample, error) {
	var all []measure.Sample
	for i, r := range x.Requests {
		if len(r.Responses) == 0 {
			continue
		}
		end := r.Responses[len(r.Responses)-1]
		latency := end - r.Timestamp
		if r.Timestamp < 0 || end < r.Timestamp {
			return nil, fmt.Errorf("requests[%d]: it ends before it starts", i)
		}
		all = append(all, measure.Sample{End: end, Latency: latency, Responses: int32(min(len(r.Responses), math.MaxInt32))})
	}
	slices.SortFunc(all, func(a, b measure.Sample) int { return cmp.Compare(a.End, b.End) })
	return all, nil
}
