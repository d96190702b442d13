package chaos

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"triton/pkg/measure"
)

// Report is the result of a run.
type Report struct {
	Plan Plan
	// Sent counts all requests. Each of them is in exactly one of the others, or in Errors.
	Sent, Right, Failed, Cancelled int64
	// Wrong counts what is against the oracle; Errors are the first of them.
	Wrong         int
	Errors        []string
	Latencies     []Latency // of the models that are never touched
	Leaks         []string
	Before, After Resources
	Idle          [2]Baseline // the machine before and after, without requests
}

// Latency is the 99th percentile of a model's latency.
type Latency struct {
	Model       string
	Quiet, Busy time.Duration
}

// Ratio is the latency under events as a multiple of that without.
func (l Latency) Ratio() float64 { return float64(l.Busy) / float64(max(1, l.Quiet)) }

func (r *Report) count(w *world, quiet, busy *latencies) {
	r.Sent, r.Right = w.tally.sent.Load(), w.tally.right.Load()
	r.Failed, r.Cancelled = w.tally.failed.Load(), w.tally.cancelled.Load()
	r.Wrong, r.Errors = w.oracle.wrong, w.oracle.errs
	for _, x := range w.order {
		if x.Still {
			r.Latencies = append(r.Latencies, Latency{x.Name, p99(quiet.of[x.Name]), p99(busy.of[x.Name])})
		}
	}
}

func p99(all []int64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return time.Duration(measure.Percentile(all, 99))
}

// summary is the last line of the journal.
func (r *Report) summary() any {
	return struct {
		Sent      int64    `json:"sent"`
		Right     int64    `json:"right"`
		Failed    int64    `json:"failed"`
		Cancelled int64    `json:"cancelled"`
		Errors    []string `json:"errors"`
		Leaks     []string `json:"leaks"`
	}{r.Sent, r.Right, r.Failed, r.Cancelled, r.Errors, r.Leaks}
}

// String is the report as text.
func (r *Report) String() string {
	var b strings.Builder
	counts := map[string]int{}
	for _, e := range r.Plan.Events {
		counts[e.Kind]++
	}
	fmt.Fprintf(&b, "seed %d, control %s: %d events in %v:", r.Plan.Seed, r.Plan.Control, len(r.Plan.Events), r.Plan.Duration)
	for _, k := range kinds {
		if n := counts[k.name]; n > 0 {
			fmt.Fprintf(&b, " %d %s,", n, k.name)
		}
	}
	fmt.Fprintf(&b, "\n%d requests: %d right, %d failed while their model could not serve, %d cancelled, %d against the oracle\n",
		r.Sent, r.Right, r.Failed, r.Cancelled, r.Wrong)
	for _, l := range r.Latencies {
		fmt.Fprintf(&b, "  %-16s p99 quiet %8v, under events %8v: %.2f times\n", l.Model, l.Quiet.Round(10*time.Microsecond), l.Busy.Round(10*time.Microsecond), l.Ratio())
	}
	fmt.Fprintf(&b, "p99 of untouched models: %s\n", r.Verdict())
	fmt.Fprintf(&b, "before: %v\nafter:  %v\n", r.Before, r.After)
	for _, e := range slices.Concat(r.Errors, r.Leaks) {
		fmt.Fprintf(&b, "ERROR %s\n", e)
	}
	return b.String()
}
