package capacity

import (
	"slices"
	"time"

	"triton/pkg/measure"
)

// Outcome is what a setting did to a load. Times of requests are over those that were
// answered.
type Outcome struct {
	Setting  Setting
	Requests int
	Answered int
	Rejected int // the queue was full
	Expired  int // their time in the queue was over
	Waiting  int // for ever

	Offered    float64 // requests per second
	Throughput float64 // answered requests per second
	Rows       float64 // answered rows per second
	// Utilization is the share of the time in which an instance runs, 0 to 1.
	Utilization float64
	Executions  int
	MeanBatch   float64 // rows of an execution

	Mean, P50, P90, P95, P99, Max time.Duration // latency
	MeanQueue, P99Queue           time.Duration // the part before the execution

	// Overloaded reports that requests came faster than they were answered: latencies then
	// grow for as long as the load lasts.
	Overloaded bool
}

// outcome computes the figures of a run.
func (p Planner) outcome(s Setting, t Trace) Outcome {
	o := Outcome{Setting: s, Requests: len(t.Arrivals), Executions: len(t.Batches)}
	if o.Requests == 0 {
		return o
	}
	latency := make([]int64, 0, o.Requests)
	for i, f := range t.Fates {
		switch f {
		case Answered:
			latency = append(latency, int64(t.Latency[i]+p.Overhead))
		case Rejected:
			o.Rejected++
		case Expired:
			o.Expired++
		case Waiting:
			o.Waiting++
		}
	}
	o.Answered = len(latency)
	queue := make([]int64, 0, o.Answered)
	busy, end, rows := time.Duration(0), time.Duration(0), 0
	for _, b := range t.Batches {
		busy, end, rows = busy+b.End-b.Start, max(end, b.End), rows+b.Rows
		for _, m := range b.Members {
			queue = append(queue, int64(b.Start-t.Arrivals[m].At))
		}
	}
	o.rates(t, busy, end, rows)
	o.Mean, o.MeanQueue = time.Duration(measure.Mean(latency)), time.Duration(measure.Mean(queue))
	slices.Sort(latency)
	for at, to := range map[float64]*time.Duration{50: &o.P50, 90: &o.P90, 95: &o.P95, 99: &o.P99, 100: &o.Max} {
		*to = time.Duration(measure.Percentile(latency, at))
	}
	o.P99Queue = time.Duration(measure.PercentileOf(queue, 99))
	o.Overloaded = p.overloaded(s, t.Arrivals, end, o.Rejected+o.Expired > 0)
	return o
}

// rates computes what is per second. The time is that from the first request until both the
// last one has arrived and the last batch has ended.
func (o *Outcome) rates(t Trace, busy, end time.Duration, rows int) {
	first, last := t.Arrivals[0].At, t.Arrivals[o.Requests-1].At
	if o.Executions > 0 {
		o.MeanBatch = float64(rows) / float64(o.Executions)
	}
	if gaps := (last - first).Seconds(); gaps > 0 {
		o.Offered = float64(o.Requests-1) / gaps
	}
	if whole := max(end, last) - first; whole > 0 {
		o.Throughput, o.Rows = float64(o.Answered)/whole.Seconds(), float64(rows)/whole.Seconds()
		o.Utilization = float64(busy) / float64(whole) / float64(max(o.Setting.Instances, 1))
	}
}

// overloaded reports whether more rows arrive than the instances can run, unless some are refused, or whether what waits
// when the last request arrives needs more than 2 % of the time again, and more than some
// batches.
func (p Planner) overloaded(s Setting, arrivals []Arrival, end time.Duration, refused bool) bool {
	rows, largest := rowsOf(s, arrivals)
	last := arrivals[len(arrivals)-1].At
	span := last - arrivals[0].At
	run := float64(max(s.Instances, 1)) * p.Curve.Best(largest, s.PerDevice())
	if !refused && span > 0 && float64(rows-largest*s.Instances)/span.Seconds() > run*1.001 {
		return true
	}
	batch := p.Curve.Time(largest, s.PerDevice())
	return end-last > span/50+4*batch+max(s.Delay, 0)
}

// rowsOf returns the rows of all arrivals, and the most rows that an execution can have.
func rowsOf(s Setting, arrivals []Arrival) (rows, largest int) {
	largest = 1
	for _, a := range arrivals {
		rows += max(a.Rows, 1)
		largest = max(largest, a.Rows) // without dynamic batching requests run alone, with their rows
	}
	if s.Dynamic() {
		largest = max(largest, s.MaxBatch)
	}
	return rows, largest
}
