package perf

import (
	"fmt"
	"math"
	"time"
)

// Interval is a 95 % confidence interval. The zero Interval is not known; one with High +Inf has
// no upper end.
type Interval struct{ Low, High float64 }

// Known reports whether the interval was computed and has two ends.
func (i Interval) Known() bool { return i != Interval{} && !math.IsInf(i.High, 1) }

// Width returns the larger distance of the ends from a value, as a share of the value: 0.02 for
// ±2 %. It is +Inf if the interval is not known.
func (i Interval) Width(value float64) float64 {
	if !i.Known() || value <= 0 {
		return math.Inf(1)
	}
	return max(i.High-value, value-i.Low) / value
}

// enoughBeyond is how many requests must be slower than a percentile. It is the rule of the
// textbooks for a share p of n samples, n(1-p) >= 10 (Moore, McCabe and Craig, Introduction to
// the Practice of Statistics, chapter 8).
const enoughBeyond = 10

// Few reports whether too few requests were slower than the percentile for a reliable figure.
func (p Percentile) Few() bool {
	return float64(p.Samples)*(100-p.P)/100 < enoughBeyond-1e-9
}

// Spread is how much windows differ, as a share of the lowest: 0.1 is 10 %.
type Spread struct{ Throughput, Latency float64 }

// Goal is the width that the confidence interval of a figure has at most: 0.02 for ±2 %.
type Goal struct {
	// Figure is throughput, avg, or a percentile such as p99. Empty means those that decide
	// stability.
	Figure string
	Width  float64
}

// Width is how wide an interval is now; +Inf if it is not known.
type Width struct {
	Goal
	Is float64
}

// Process says how busy this process was in a window, and how late it noticed responses.
type Process struct {
	CPU      time.Duration // processor time
	Duration time.Duration // of the window
	Cores    float64       // that the process may use
	Machine  float64       // busy share of all processors, by any process; negative: not known
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

// Grade is the quality of the figures of a level, from A to F; empty without requests.
type Grade string

// grades are the relative widths of intervals up to which a level has a grade.
var grades = []struct {
	grade Grade
	width float64
}{{"A", 0.01}, {"B", 0.02}, {"C", 0.05}, {"D", 0.1}}

// judge grades a level, and says whether the client limited it.
func (r *run) judge(l *Level) {
	if l.Requests == 0 {
		return
	}
	l.Late = l.lateText()
	if r.settings.Protocol != "" { // else the process that is busy is the server
		l.ClientLimit = l.clientLimit()
	}
	l.Grade = grade(l)
	if l.ClientLimit != "" {
		r.notice(fmt.Sprintf("WARNING: %s: the client limited this level: %s.", l.Load, l.ClientLimit))
	}
}

func grade(l *Level) Grade {
	if l.ClientLimit != "" || l.Late != "" || l.Errors > 0 {
		return "F"
	}
	if !l.Stable {
		return "E"
	}
	width := max(l.ThroughputInterval.Width(l.Throughput), l.StabilizingInterval.Width(float64(l.Stabilizing)))
	for _, g := range grades {
		if width <= g.width {
			return g.grade
		}
	}
	return "E"
}

// String describes the load for people.
func (l Load) String() string {
	switch l.Mode {
	case Concurrency:
		return fmt.Sprintf("concurrency %d", l.Concurrency())
	case RequestRate:
		return fmt.Sprintf("request rate %.6g", l.Value)
	case Periodic:
		return fmt.Sprintf("periodic concurrency %.6g", l.Value)
	case Sessions:
		return fmt.Sprintf("session concurrency %.6g", l.Value)
	default:
		return "schedule"
	}
}
