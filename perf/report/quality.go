package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"triton/perf"
)

// quality writes how far the figures of a level can be trusted. perf_analyzer has no such lines, so
// they go to the stream of the notices.
func (c *Console) quality(l *perf.Level) {
	c.ownNote(fmt.Sprintf("  Quality of %s, batch size %d: %s", l.Load, l.Batch, l.Grade))
	warmUp := fmt.Sprintf("    Warm-up, not measured: %d requests in %.3g msec", l.WarmUp.Requests, 1000*l.WarmUp.Duration.Seconds())
	if l.WarmUp.Limit {
		warmUp += "; not every request in flight was answered by then"
	}
	c.ownNote(warmUp)
	c.ownNote("    Throughput: " + interval(l.ThroughputInterval, l.Throughput, 1, "infer/sec"))
	c.ownNote("    Avg latency: " + interval(l.AvgInterval, float64(l.AvgLatency), time.Microsecond, "usec"))
	percentiles := slices.Clone(l.Percentiles)
	if moreTail(l) {
		percentiles = append(percentiles, l.P999)
	}
	for _, p := range percentiles {
		line := fmt.Sprintf("    p%g latency: %s of %d requests", p.P, interval(p.Interval, float64(p.Latency), time.Microsecond, "usec"), p.Samples)
		if p.Few() {
			line += ", too few of which were slower"
		}
		c.ownNote(line)
	}
	c.ownNote(fmt.Sprintf("    Max latency: %d usec", usec(l.MaxLatency)))
	if s := l.Spread; s != (perf.Spread{}) {
		c.ownNote(fmt.Sprintf("    Spread of the last windows: throughput %.2g%%, latency %.2g%% (limit %.3g%%)", 100*s.Throughput, 100*s.Latency, 100*c.settings.Stability))
	}
	if t := l.Schedule; t != nil {
		c.ownNote(fmt.Sprintf("    From schedule: avg %d usec, p99 %d usec, max %d usec; started late: avg %d usec, max %d usec",
			usec(t.AvgLatency), usec(t.Latency(99)), usec(t.MaxLatency), usec(t.AvgLate), usec(t.MaxLate)))
	}
	if p := l.Process; p != nil {
		c.ownNote(fmt.Sprintf("    Client: %.2f of %g cores; responses noticed %d usec late on average, p99 %d usec (%d probes)",
			p.Busy()*p.Cores, p.Cores, usec(p.Delay), usec(p.DelayP99), p.Probes))
	}
	if l.Errors > 0 {
		c.ownNote(fmt.Sprintf("    Failed requests: %d", l.Errors))
	}
}

// interval is a value with its interval, in a unit.
func interval(i perf.Interval, value float64, unit time.Duration, name string) string {
	u := float64(unit)
	text := fmt.Sprintf("%.6g %s", value/u, name)
	switch {
	case i == perf.Interval{}:
		return text + ", interval not known"
	case math.IsInf(i.High, 1):
		return text + fmt.Sprintf(", 95%% interval from %.6g", i.Low/u)
	}
	return text + fmt.Sprintf(", 95%% interval %.6g to %.6g (±%.2g%%)", i.Low/u, i.High/u, 100*i.Width(value))
}

// qualityColumns are at the end of the CSV with more columns, after the tail columns.
var qualityColumns = []string{
	"Max latency", "Request count", "Throughput low", "Throughput high",
	"Latency low", "Latency high", "Grade", "Client cores", "Client delay", "Late", "Errors", "Warm-up", "Seed",
}

// qualityCells are latencies in microseconds, the warm-up in milliseconds, and the interval of the
// latency that decides stability. What is not known is empty.
func qualityCells(l *perf.Level, seed uint64) []string {
	number := func(v float64, known bool) string {
		if !known {
			return ""
		}
		return strconv.FormatFloat(v, 'g', 6, 64)
	}
	t, s, p := l.ThroughputInterval, l.StabilizingInterval, l.Process
	cells := []string{
		strconv.FormatInt(usec(l.MaxLatency), 10), strconv.Itoa(l.Requests),
		number(t.Low, t.Known()), number(t.High, t.Known()),
		number(s.Low/1000, s.Known()), number(s.High/1000, s.Known()), string(l.Grade),
	}
	if p == nil {
		p = &perf.Process{}
	}
	late := ""
	if l.Schedule != nil {
		late = strconv.Itoa(l.Schedule.Delayed)
	}
	return append(cells, number(p.Busy()*p.Cores, l.Process != nil), number(float64(usec(p.Delay)), l.Process != nil),
		late, strconv.FormatUint(l.Errors, 10), strconv.FormatInt(l.WarmUp.Duration.Milliseconds(), 10), strconv.FormatUint(seed, 10))
}
