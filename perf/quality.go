package perf

import (
	"fmt"
	"math"
	"strings"
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

// Grade is the quality of the figures of a level, from A to F; empty without requests.
type Grade string

// grades are the relative widths of intervals up to which a level has a grade.
var grades = []struct {
	grade Grade
	width float64
}{{"A", 0.01}, {"B", 0.02}, {"C", 0.05}, {"D", 0.1}}

// gradeLevel grades a level, and says whether the client limited it.
func (r *run) gradeLevel(l *Level) {
	if l.Requests == 0 {
		return
	}
	l.Late = l.lateText()
	if !r.settings.InProcess() { // else the process that is busy is the server
		l.ClientLimit = l.clientLimit()
	}
	l.Grade = grade(l)
	if l.ClientLimit != "" {
		r.warn("%s: the client limited this level: %s.", l.Load, l.ClientLimit)
	}
}

func grade(l *Level) Grade {
	if l.ClientLimit != "" || l.Late != "" || l.Errors > 0 {
		return "F"
	}
	if !l.Stable {
		return "E"
	}
	return GradeOf(l.width())
}

// GradeOf returns the grade of figures that are known to a share of them: 0.1 is ±10 %.
func GradeOf(width float64) Grade {
	for _, g := range grades {
		if width <= g.width {
			return g.grade
		}
	}
	return "E"
}

// The client limits a level when it uses nearly all of its processor time, or when it notices
// responses so late that this is a tenth of the latency. Delays up to shortDelay are the price of a
// wake-up.
const (
	saturated  = 0.9
	shortDelay = 100 * time.Microsecond
	longDelay  = 0.1 // of the average latency
)

// clientLimit says why the figures are those of the client, and by how much; empty if they are not.
func (s *Summary) clientLimit() string {
	p := s.Process
	if p == nil {
		return ""
	}
	var why []string
	if p.Delay > shortDelay && float64(p.Delay) >= longDelay*float64(s.AvgLatency) {
		// At a random time the delay may be longer than the average latency: a process that does
		// not run for a while delays one response, and sends no other one meanwhile.
		text := fmt.Sprintf("at random times it would have noticed a response %d usec late on average, which is more than the latency", p.Delay.Microseconds())
		if p.Delay < s.AvgLatency {
			text = fmt.Sprintf("it noticed responses %d usec late on average, %.0f %% of the latency",
				p.Delay.Microseconds(), 100*float64(p.Delay)/float64(s.AvgLatency))
		}
		why = append(why, text)
	}
	if len(why) > 0 || p.Busy() >= saturated {
		text := fmt.Sprintf("it used %.2f of %g cores", p.Busy()*p.Cores, p.Cores)
		if p.Machine >= 0 {
			text += fmt.Sprintf(", and the machine was %.0f %% busy", 100*p.Machine)
		}
		why = append(why, text)
	}
	return strings.Join(why, "; ")
}

// muchOther is the share of the processors that other programs may use before a run with repeats warns.
const muchOther = 0.2

// noteOthers warns when other programs used the machine between the levels.
func (r *run) noteOthers() {
	sum, n := 0.0, 0.0
	for _, l := range r.report.All() {
		if l.Process != nil && l.Process.Others >= 0 {
			sum += l.Process.Others
			n++
		}
	}
	if n > 0 && sum/n >= muchOther {
		r.warn("other programs used %.0f %% of the processors of this machine: the figures change with them. Measure on a machine with less other load, or compare servers with triton perf compare --live.", 100*sum/n)
	}
}

// ManyLate reports whether more than one in a hundred requests of a schedule started late.
// perf_analyzer warns then.
func (s *Summary) ManyLate() bool {
	return s.Schedule != nil && float64(s.Schedule.Delayed) > 0.01*float64(s.Requests)
}

// lateText says how late the requests of a schedule were; empty if they were not.
func (s *Summary) lateText() string {
	if !s.ManyLate() {
		return ""
	}
	t := s.Schedule
	return fmt.Sprintf("%.1f %% of the requests started more than 1 ms late, on average %d usec",
		100*float64(t.Delayed)/float64(s.Requests), t.AvgLate.Microseconds())
}
