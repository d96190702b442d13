package result

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/url"
	"slices"
	"sort"
	"strings"
	"time"

	"triton/perf"
	"triton/perf/data"
	"triton/pkg/measure"
)

// Options describe what a perf.Report does not know.
type Options struct {
	Version, Commit string // of the program
	URL             string // of the server; a password in it is not written
	Machine         Machine
	Created         time.Time
}

// Write writes the result file of a report.
func Write(w io.Writer, r *perf.Report, o Options) error { return New(r, o).Write(w) }

// Write writes the file.
func (f *File) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	if err := e.Encode(f); err != nil {
		return fmt.Errorf("result file: %w", err)
	}
	return nil
}

// New returns the content of the result file of a report.
func New(r *perf.Report, o Options) *File {
	f := &File{
		Format:      Format,
		Version:     Version,
		Created:     o.Created.UTC().Truncate(time.Millisecond),
		Program:     Program{Name: "triton perf", Version: o.Version, Commit: o.Commit},
		Machine:     o.Machine,
		Settings:    settings(&r.Settings, o.URL),
		Interrupted: r.Interrupted,
		Levels:      []Level{},
	}
	for _, l := range r.All() {
		f.Levels = append(f.Levels, level(l))
	}
	return f
}

func settings(s *perf.Settings, address string) Settings {
	out := Settings{
		Model: s.Model, ModelVersion: s.Version, URL: withoutUser(address), Protocol: s.Protocol, ServiceKind: s.ServiceKind,
		Mode: modes[s.Mode], BatchSizes: s.Batches,
		Streaming: s.Streaming, Async: s.Async, Decoupled: s.Decoupled, Sequences: s.Sequence, Ensemble: s.Ensemble,
		MaxBatchSize: s.MaxBatchSize, Stability: 100 * s.Stability, MaxWindows: s.MaxTrials, Percentile: s.Percentile,
		LimitMs: milliseconds(s.LatencyLimit), RequestCount: s.RequestCount, WarmupCount: s.WarmupCount,
		MaxInFlight: s.MaxInFlight, Seed: s.Seed, Speed: s.Speed, Input: sources[s.Data.Source],
	}
	if s.Mode == perf.Concurrency || s.Mode == perf.RequestRate {
		out.Range = &Range{s.Range.Start, s.Range.End, s.Range.Step, s.Range.List}
		out.Search = [...]string{perf.Linear: "linear", perf.Binary: "binary"}[s.Search]
	}
	if s.Mode == perf.RequestRate {
		out.Distribution = [...]string{perf.Constant: "constant", perf.Poisson: "poisson"}[s.Distribution]
	}
	if s.Windows == perf.CountWindows {
		out.Windows, out.Samples = "count", s.Samples
	} else {
		out.Windows, out.IntervalMs = "time", milliseconds(s.Interval)
	}
	if s.Repeats > 1 {
		out.Repeats = s.Repeats
	}
	for _, g := range s.StopWhen {
		out.StopWhen = append(out.StopWhen, Goal{g.Figure, 100 * g.Width})
	}
	if s.Data.Source == data.Random {
		out.RandomSteps = s.Data.Steps
	}
	return out
}

var (
	modes = map[perf.Mode]Mode{
		perf.Concurrency: Concurrency, perf.RequestRate: RequestRate, perf.Intervals: Intervals, perf.FixedSchedule: FixedSchedule,
		perf.Periodic: Periodic, perf.Sessions: Sessions,
	}
	sources = map[data.Source]string{data.Random: "random", data.Zero: "zero", data.Files: "files"}
)

// withoutUser removes the user and the password from an address.
func withoutUser(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		scheme, rest = "", address
	}
	host, path, slash := strings.Cut(rest, "/")
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
	}
	if slash {
		host += "/" + path
	}
	if ok {
		host = scheme + "://" + host
	}
	if u, err := url.Parse(host); err == nil && ok {
		u.RawQuery, u.Fragment = "", ""
		return u.String()
	}
	return host
}

func level(l *perf.Level) Level {
	out := Level{
		Number: l.Number, BatchSize: l.Batch, Load: l.Load.Value, Repeat: l.Repeat,
		Stable: l.Stable, OverLimit: l.OverLimit, Interrupted: l.Incomplete, Trials: l.Trials, Problem: l.Problem(),
		Requests: l.Requests, DurationS: l.Duration.Seconds(), Throughput: finite(l.Throughput),
		Latency: latency(l.AvgLatency, l.MaxLatency, l.Percentiles, l.P999), DecidingUs: micros(l.Stabilizing), Failed: l.Errors,
		ThroughputInterval: interval(l.ThroughputInterval, 1), ClientLimit: l.ClientLimit, Late: l.Late, Grade: string(l.Grade),
		Responses: l.Responses, ResponseThroughput: finite(l.ResponseThroughput), SequencesEnded: l.Sequences,
		Client: client(&l.Summary),
		Server: server(l.Server), GPUs: gpus(l.GPU),
	}
	out.Latency.AvgInterval = interval(l.AvgInterval, 1000)
	if l.WarmUp.Duration > 0 {
		out.WarmUp = &WarmUp{l.WarmUp.Requests, l.WarmUp.Duration.Seconds()}
	}
	if !l.Detail.Start.IsZero() {
		out.Started = l.Detail.Start.UTC().Truncate(time.Millisecond)
	}
	if l.Requests > 1 && l.StdDev != math.MaxUint64 {
		deviation := float64(l.StdDev)
		out.StdDevUs = &deviation
	}
	if s := l.Schedule; s != nil {
		out.Schedule = &Schedule{finite(s.SendRate), s.Delayed, micros(s.MaxLate), micros(s.AvgLate), latency(s.AvgLatency, s.MaxLatency, s.Percentiles, s.P999)}
	}
	for _, w := range l.Detail.Windows {
		x := Window{
			StartS: w.Start.Seconds(), DurationS: w.Duration.Seconds(), Requests: w.Requests,
			Throughput: finite(w.Throughput), DecidingUs: micros(w.Stabilizing), Counted: w.Counted,
		}
		if w.Err != nil {
			x.Error = w.Err.Error()
		}
		out.Windows = append(out.Windows, x)
	}
	out.Timeline, out.Histogram = timeline(l.Detail.Timeline), histogram(l.Detail.Histogram)
	return out
}

func timeline(moments []perf.Moment) []Moment {
	var out []Moment
	for _, m := range moments {
		out = append(out, Moment{m.Start.Seconds(), m.Duration.Seconds(), m.Requests, latency(m.AvgLatency, 0, m.Percentiles, perf.Percentile{})})
	}
	return out
}

func histogram(buckets []measure.Bucket) []Bucket {
	var out []Bucket
	for _, b := range buckets {
		out = append(out, Bucket{float64(b.Low) / 1000, float64(b.High) / 1000, b.N})
	}
	return out
}

// latency returns the figures of latencies. tail is a percentile beyond ps; its P is 0 if there is
// none.
func latency(mean, longest time.Duration, ps []perf.Percentile, tail perf.Percentile) Latency {
	l := Latency{AvgUs: micros(mean), MaxUs: micros(longest)}
	all := slices.Clone(ps)
	if tail.P > 0 && !slices.ContainsFunc(ps, func(p perf.Percentile) bool { return p.P == tail.P }) {
		all = append(all, tail)
		sort.Slice(all, func(i, j int) bool { return cmp.Less(all[i].P, all[j].P) })
	}
	for _, p := range all {
		l.Percentiles = append(l.Percentiles, Percentile{p.P, micros(p.Latency), p.Samples, interval(p.Interval, 1000)})
	}
	return l
}

// interval returns an interval in another unit; nil if it is not known.
func interval(i perf.Interval, unit float64) *Interval {
	if i == (perf.Interval{}) {
		return nil
	}
	out := &Interval{Low: finite(i.Low / unit)}
	if high := i.High / unit; !math.IsInf(high, 0) && !math.IsNaN(high) {
		out.High = &high
	}
	return out
}

func client(s *perf.Summary) Client {
	c := Client{
		RequestUs: micros(s.Client.Request), SendUs: micros(s.Client.Send), ReceiveUs: micros(s.Client.Receive),
		OverheadPercent: finite(s.Overhead),
	}
	if p := s.Process; p != nil {
		c.Cores, c.CoresUsed = p.Cores, finite(p.Busy()*p.Cores)
		c.BusyPercent = max(0, finite(100*p.Machine))
		if p.Others >= 0 {
			others := finite(100 * p.Others)
			c.OthersPercent = &others
		}
		c.RoundTrips = finite(p.Pace)
		c.DelayUs, c.DelayP99Us = micros(p.Delay), micros(p.DelayP99)
	}
	return c
}

func server(s *perf.ServerStats) *Server {
	if s == nil {
		return nil
	}
	out := &Server{
		Model: s.Model, ModelVersion: s.Version, Inferences: s.Inferences, Executions: s.Executions,
		Requests: s.Success.Count, RequestUs: average(s.Success), QueueUs: average(s.Queue),
		ComputeInputUs: average(s.ComputeInput), ComputeInferUs: average(s.ComputeInfer), ComputeOutputUs: average(s.ComputeOutput),
		CacheHits: s.CacheHit.Count, CacheHitUs: average(s.CacheHit), CacheMisses: s.CacheMiss.Count, CacheMissUs: average(s.CacheMiss),
	}
	for _, b := range s.Batches {
		out.Batches = append(out.Batches, BatchSize{b.Size, b.Executions, average(b.ComputeInput), average(b.ComputeInfer), average(b.ComputeOutput)})
	}
	for i := range s.Composing {
		out.Composing = append(out.Composing, *server(&s.Composing[i]))
	}
	return out
}

func average(d perf.Statistic) float64 {
	if d.Count == 0 {
		return 0
	}
	return float64(d.Ns) / float64(d.Count) / 1000
}

func gpus(g *perf.GPUStats) []GPU {
	if g == nil {
		return nil
	}
	ids := map[string]bool{}
	for _, gauge := range []map[string]float64{g.Utilization, g.Power, g.MemoryUsed, g.MemoryTotal} {
		for id := range gauge {
			ids[id] = true
		}
	}
	var out []GPU
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		out = append(out, GPU{id, gauge(g.Utilization, id, 100), gauge(g.Power, id, 1), gauge(g.MemoryUsed, id, 1), gauge(g.MemoryTotal, id, 1)})
	}
	return out
}

// gauge returns a gauge in another unit; nil if the server does not have it.
func gauge(of map[string]float64, id string, unit float64) *float64 {
	v, ok := of[id]
	if v *= unit; !ok || math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

func micros(d time.Duration) float64       { return float64(d) / float64(time.Microsecond) }
func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// finite returns v, or 0 for the values that JSON does not have.
func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}
