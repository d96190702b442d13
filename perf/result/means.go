package result

import (
	"cmp"
	"math"
	"time"

	"triton/perf"
)

// meanLevel is a level over its repeats.
type meanLevel struct {
	Level
	repeats int // that count; 0: the level was measured once
}

// means returns the levels by load, each with its repeats as one.
func (f *File) means() []meanLevel {
	var all []meanLevel
	levels := f.byLoad()
	for i := 0; i < len(levels); {
		end := i + 1
		for end < len(levels) && levels[end].Repeat > 0 && levels[end].BatchSize == levels[i].BatchSize && levels[end].Load == levels[i].Load {
			end++
		}
		all = append(all, f.Settings.meanOf(levels[i:end]))
		i = end
	}
	return all
}

// meanOf returns a level over its repeats, as perf.Config.Repeated computes it.
func (s *Settings) meanOf(repeats []*Level) meanLevel {
	if repeats[0].Repeat == 0 {
		return meanLevel{Level: *repeats[0]}
	}
	config := perf.Config{
		Repeats: s.Repeats, Stability: s.Stability / 100, LatencyLimit: nanoseconds(1000 * s.LimitMs),
		StopWhen: make([]perf.Goal, len(s.StopWhen)),
	}
	all := make([]*perf.Level, len(repeats))
	for i, l := range repeats {
		all[i] = measured(l)
	}
	mean := config.Repeated(all)
	if len(mean.Of) == 0 {
		return meanLevel{Level: *repeats[0]}
	}
	return meanLevel{level(&mean.Level), len(mean.Of)}
}

// measured returns the figures of a level of which there are means.
func measured(l *Level) *perf.Level {
	out := &perf.Level{
		Number: l.Number, Batch: l.BatchSize, Load: perf.Load{Value: l.Load}, Repeat: l.Repeat,
		Stable: l.Stable, OverLimit: l.OverLimit, Incomplete: l.Interrupted, ClientLimit: l.ClientLimit, Late: l.Late,
		Summary: perf.Summary{
			Requests: l.Requests, Duration: time.Duration(l.DurationS * float64(time.Second)), Errors: l.Failed,
			Throughput: l.Throughput, AvgLatency: nanoseconds(l.Latency.AvgUs), Stabilizing: nanoseconds(cmp.Or(l.DecidingUs, l.Latency.AvgUs)),
			MaxLatency: nanoseconds(l.Latency.MaxUs),
		},
	}
	for _, p := range l.Latency.Percentiles {
		out.Percentiles = append(out.Percentiles, perf.Percentile{P: p.P, Latency: nanoseconds(p.Us), Samples: p.Requests})
	}
	return out
}

func nanoseconds(us float64) time.Duration {
	return time.Duration(math.Round(us * float64(time.Microsecond)))
}
