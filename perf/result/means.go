package result

import (
	"math"
	"slices"

	"triton/perf"
)

// meanLevel is a level over its repeats.
type meanLevel struct {
	Level
	repeats int // that count; 0: the level was measured once
}

// means returns the levels by load, each with its repeats as one: figures are means, intervals say how much the repeats
// differ, counts are sums, and the grade is by the interval of throughput and average, as perf.Repeated has it.
func (f *File) means() []meanLevel {
	var all []meanLevel
	levels := f.byLoad()
	for i := 0; i < len(levels); {
		end := i + 1
		for end < len(levels) && levels[end].Repeat > 0 && levels[end].BatchSize == levels[i].BatchSize && levels[end].Load == levels[i].Load {
			end++
		}
		all = append(all, meanOfLevels(levels[i:end]))
		i = end
	}
	return all
}

func meanOfLevels(all []*Level) meanLevel {
	first := all[0]
	counted := slices.DeleteFunc(slices.Clone(all), func(l *Level) bool { return l.Requests == 0 || l.Interrupted })
	if first.Repeat == 0 || len(counted) == 0 {
		return meanLevel{Level: *first}
	}
	m := meanLevel{repeats: len(counted), Level: Level{Number: first.Number, BatchSize: first.BatchSize, Load: first.Load, Stable: true}}
	for _, l := range counted {
		m.Stable = m.Stable && l.Stable
		m.OverLimit = m.OverLimit || l.OverLimit
		m.Requests, m.DurationS, m.Failed = m.Requests+l.Requests, m.DurationS+l.DurationS, m.Failed+l.Failed
		for _, text := range []struct {
			to   *string
			from string
		}{{&m.Problem, l.Problem}, {&m.ClientLimit, l.ClientLimit}, {&m.Late, l.Late}} {
			if *text.to == "" {
				*text.to = text.from
			}
		}
	}
	m.Throughput, m.ThroughputInterval = overLevels(counted, func(l *Level) float64 { return l.Throughput })
	m.Latency.AvgUs, m.Latency.AvgInterval = overLevels(counted, func(l *Level) float64 { return l.Latency.AvgUs })
	for _, p := range counted[0].Latency.Percentiles {
		if slices.ContainsFunc(counted, func(l *Level) bool { _, ok := l.Latency.Us(p.P); return !ok }) {
			continue
		}
		q := Percentile{P: p.P, Requests: m.Requests}
		q.Us, q.Interval = overLevels(counted, func(l *Level) float64 { us, _ := l.Latency.Us(p.P); return us })
		m.Latency.Percentiles = append(m.Latency.Percentiles, q)
	}
	m.Grade = m.grade()
	return m
}

func (m *meanLevel) grade() string {
	width := func(i *Interval, value float64) float64 {
		if i == nil || i.High == nil {
			return math.Inf(1)
		}
		return perf.Interval{Low: i.Low, High: *i.High}.Width(value)
	}
	switch {
	case m.ClientLimit != "" || m.Late != "" || m.Failed > 0:
		return "F"
	case !m.Stable:
		return "E"
	}
	return string(perf.GradeOf(max(width(m.ThroughputInterval, m.Throughput), width(m.Latency.AvgInterval, m.Latency.AvgUs))))
}

// overLevels returns the mean of a figure with its interval, nil if there is one level.
func overLevels(all []*Level, of func(l *Level) float64) (float64, *Interval) {
	values := make([]float64, len(all))
	for i, l := range all {
		values[i] = of(l)
	}
	mean := perf.MeanOf(values)
	if !mean.Interval.Known() {
		return mean.Value, nil
	}
	return mean.Value, &Interval{Low: mean.Interval.Low, High: &mean.Interval.High}
}
