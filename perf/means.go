package perf

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Repeated is a level of a run with Config.Repeats. Of the figures of Level, counts and the server's
// statistics are sums over the repeats, the longest latency is that of all of them, and the others are
// means. Intervals say how much the repeats differ, and the grade is by them.
type Repeated struct {
	Level
	// Of are the repeats that count, in the order measured: those with figures that were not interrupted.
	// Without any Level is one that does not count.
	Of []*Level
	// The figures that people look at, over the repeats. They hide those of Level, which are their values.
	Throughput, AvgLatency, P99 Mean
}

// Repeated returns the levels of a run with Config.Repeats, in the order in which they were measured first.
func (r *Report) Repeated() []Repeated {
	var order []Setting
	groups := map[Setting][]*Level{}
	for _, l := range r.All() {
		at := Setting{Batch: l.Batch, Load: l.Load}
		if groups[at] == nil {
			order = append(order, at)
		}
		groups[at] = append(groups[at], l)
	}
	all := make([]Repeated, 0, len(order))
	for _, at := range order {
		all = append(all, r.Settings.Repeated(groups[at]))
	}
	return all
}

// Means returns a report with one level in place of its repeats. It is the report itself if it has none.
func (r *Report) Means() *Report {
	if r.Settings.Repeats <= 1 {
		return r
	}
	out := &Report{Settings: r.Settings, Interrupted: r.Interrupted, Unstable: r.Unstable}
	out.Settings.Repeats = 1
	for _, l := range r.Repeated() {
		if l.OverLimit || !l.Stable && !l.Incomplete {
			out.Failed = append(out.Failed, l.Level)
		} else {
			out.Levels = append(out.Levels, l.Level)
		}
	}
	return out
}

// Repeated returns a level over its repeats, at least one.
func (c *Config) Repeated(repeats []*Level) Repeated {
	first := repeats[0]
	l := Repeated{Level: Level{Number: first.Number, Batch: first.Batch, Load: first.Load, Stable: true}}
	for _, one := range repeats {
		if one.Requests > 0 && !one.Incomplete {
			l.Of = append(l.Of, one)
		}
	}
	if len(l.Of) == 0 {
		l.Level = *first
		l.Repeat = 0
		return l
	}
	for _, one := range l.Of {
		l.Stable = l.Stable && one.Stable
		l.Trials += one.Trials
		l.WarmUp.Requests += one.WarmUp.Requests
		l.WarmUp.Duration += one.WarmUp.Duration
		l.WarmUp.Limit = l.WarmUp.Limit || one.WarmUp.Limit
		if l.ClientLimit == "" {
			l.ClientLimit = one.ClientLimit
		}
		if l.Late == "" {
			l.Late = one.Late
		}
	}
	l.Throughput = over(l.Of, func(s *Summary) float64 { return s.Throughput })
	l.AvgLatency = over(l.Of, func(s *Summary) float64 { return float64(s.AvgLatency) })
	l.P99 = over(l.Of, func(s *Summary) float64 { return float64(s.Latency(99)) })
	l.Summary = means(l.Of)
	l.Stable = l.Stable && (!c.repeatsDecide() || l.width() <= c.Stability)
	l.OverLimit = l.Stable && c.LatencyLimit > 0 && l.Stabilizing >= c.LatencyLimit
	l.Grade = grade(&l.Level)
	return l
}

// enoughRepeats is how many repeats of a level decide if it is stable, instead of its windows. Then a repeat is
// as long as the windows that have to agree, so that a run takes a time that is known before.
const enoughRepeats = 5

func (c *Config) repeatsDecide() bool { return c.Repeats >= enoughRepeats && len(c.StopWhen) == 0 }

// width returns how well throughput and latency are known, as a share of them: 0.1 is ±10 %.
func (l *Level) width() float64 {
	return max(l.ThroughputInterval.Width(l.Throughput), l.StabilizingInterval.Width(float64(l.Stabilizing)))
}

// judgeRepeats says of which levels the repeats disagree too much.
func (r *run) judgeRepeats() {
	if !r.settings.repeatsDecide() || r.report.Interrupted {
		return
	}
	r.report.Settings = r.settings
	for _, l := range r.report.Repeated() {
		if l.Stable || len(l.Of) == 0 {
			continue
		}
		r.report.Unstable = true
		r.notice(fmt.Sprintf("Failed to obtain stable measurement for %s: the mean of %d repeats is known to ±%.2g %%, and ±%g %% is wanted. Please try to increase the --repeat or the --measurement-interval.",
			l.Load, len(l.Of), 100*l.width(), 100*r.settings.Stability))
	}
}

// over returns a figure over the repeats of a level.
func over(repeats []*Level, of func(s *Summary) float64) Mean {
	values := make([]float64, len(repeats))
	for i, l := range repeats {
		values[i] = of(&l.Summary)
	}
	return MeanOf(values)
}

// means returns the figures of Repeated.Level. StdDev, which is of the requests of one repeat, is not
// among them.
func means(repeats []*Level) Summary {
	mean := func(of func(s *Summary) float64) float64 { return over(repeats, of).Value }
	duration := func(of func(s *Summary) time.Duration) time.Duration {
		return time.Duration(math.Round(mean(func(s *Summary) float64 { return float64(of(s)) })))
	}
	throughput := over(repeats, func(s *Summary) float64 { return s.Throughput })
	s := Summary{
		Throughput: throughput.Value, ThroughputInterval: throughput.Interval,
		StdDev:             math.MaxUint64,
		ResponseThroughput: mean(func(s *Summary) float64 { return s.ResponseThroughput }),
		Overhead:           mean(func(s *Summary) float64 { return s.Overhead }),
		Client: ClientTimes{
			Request: duration(func(s *Summary) time.Duration { return s.Client.Request }),
			Send:    duration(func(s *Summary) time.Duration { return s.Client.Send }),
			Receive: duration(func(s *Summary) time.Duration { return s.Client.Receive }),
		},
	}
	s.AvgLatency, s.AvgInterval = meanLatency(repeats, func(s *Summary) time.Duration { return s.AvgLatency })
	s.Stabilizing, s.StabilizingInterval = meanLatency(repeats, func(s *Summary) time.Duration { return s.Stabilizing })
	for _, p := range repeats[0].Percentiles {
		if !slices.ContainsFunc(repeats, func(l *Level) bool { return percentileOf(l.Percentiles, p.P) == Percentile{} }) {
			s.Percentiles = append(s.Percentiles, meanPercentile(repeats, func(s *Summary) Percentile { return percentileOf(s.Percentiles, p.P) }))
		}
	}
	s.P999 = meanPercentile(repeats, func(s *Summary) Percentile { return s.P999 })
	var gauges []*GPUStats
	for _, l := range repeats {
		s.Requests += l.Requests
		s.Duration += l.Duration
		s.MaxLatency = max(s.MaxLatency, l.MaxLatency)
		s.Errors += l.Errors
		s.Sequences += l.Sequences
		s.Responses += l.Responses
		s.Client.Completed += l.Client.Completed
		if l.Server != nil {
			s.Server = addServer(s.Server, l.Server)
		}
		gauges = append(gauges, l.GPU)
	}
	s.GPU = meanGPU(gauges)
	s.Process, s.Schedule = meanProcess(repeats), meanSchedule(repeats)
	return s
}

// meanLatency returns the mean of a latency over repeats, with its interval.
func meanLatency(repeats []*Level, of func(s *Summary) time.Duration) (time.Duration, Interval) {
	m := over(repeats, func(s *Summary) float64 { return float64(of(s)) })
	return time.Duration(math.Round(m.Value)), m.Interval
}

// meanPercentile returns the mean of a percentile over repeats. Its requests are those of the repeat with
// the fewest: the mean of percentiles of too few requests is as far off as each of them.
func meanPercentile(repeats []*Level, of func(s *Summary) Percentile) Percentile {
	p := of(&repeats[0].Summary)
	for _, l := range repeats[1:] {
		p.Samples = min(p.Samples, of(&l.Summary).Samples)
	}
	p.Latency, p.Interval = meanLatency(repeats, func(s *Summary) time.Duration { return of(s).Latency })
	return p
}

// meanProcess returns how busy the client was over repeats; nil if it is not known.
func meanProcess(repeats []*Level) *Process {
	n := len(repeats)
	p := &Process{}
	for _, l := range repeats {
		q := l.Process
		if q == nil {
			return nil
		}
		p.CPU += q.CPU
		p.Duration += q.Duration
		p.Cores = q.Cores
		p.Machine += q.Machine / float64(n)
		p.Others += q.Others / float64(n)
		p.Pace += q.Pace / float64(n)
		p.Delay += q.Delay / time.Duration(n)
		p.DelayP99 += q.DelayP99 / time.Duration(n)
		p.Probes += q.Probes
	}
	return p
}

// meanSchedule returns how well the client kept its schedule over repeats; nil without one.
func meanSchedule(repeats []*Level) *ScheduleStats {
	for _, l := range repeats {
		if l.Schedule == nil {
			return nil
		}
	}
	mean := func(of func(t *ScheduleStats) time.Duration) time.Duration {
		d, _ := meanLatency(repeats, func(s *Summary) time.Duration { return of(s.Schedule) })
		return d
	}
	first := repeats[0].Schedule
	t := &ScheduleStats{
		SendRate:   over(repeats, func(s *Summary) float64 { return s.Schedule.SendRate }).Value,
		AvgLate:    mean(func(t *ScheduleStats) time.Duration { return t.AvgLate }),
		AvgLatency: mean(func(t *ScheduleStats) time.Duration { return t.AvgLatency }),
	}
	for _, p := range first.Percentiles {
		p.Latency = mean(func(t *ScheduleStats) time.Duration { return t.Latency(p.P) })
		t.Percentiles = append(t.Percentiles, p)
	}
	t.P999 = first.P999
	t.P999.Latency = mean(func(t *ScheduleStats) time.Duration { return t.P999.Latency })
	for _, l := range repeats {
		t.Delayed += l.Schedule.Delayed
		t.MaxLate = max(t.MaxLate, l.Schedule.MaxLate)
		t.MaxLatency = max(t.MaxLatency, l.Schedule.MaxLatency)
	}
	return t
}
