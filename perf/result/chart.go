package result

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Run is a result file with the name to show it under.
type Run struct {
	Name string
	File *File
}

// ReadRuns reads result files. Runs are named like the files, without the folders that all of
// them are in.
func ReadRuns(names []string) ([]Run, error) {
	var runs []Run
	short := shortNames(names)
	for i, name := range names {
		f, err := ReadFile(name)
		if err != nil {
			return nil, err
		}
		runs = append(runs, Run{short[i], f})
	}
	return runs, nil
}

// shortNames returns the last elements of paths, and whole paths if two of those are equal.
func shortNames(names []string) []string {
	short := make([]string, len(names))
	for i, name := range names {
		short[i] = filepath.Base(name)
		if slices.Contains(short[:i], short[i]) {
			return names
		}
	}
	return short
}

// unit is the unit of all latencies of a report.
type unit struct {
	Short, Long string
	us          float64 // microseconds of a unit
}

var units = []unit{{"µs", "microseconds (µs)", 1}, {"ms", "milliseconds (ms)", 1e3}, {"s", "seconds (s)", 1e6}}

// unitOf returns the largest unit in which no average latency is below 1.
func unitOf(runs []Run) unit {
	lowest := 0.0
	for _, r := range runs {
		for i := range r.File.Levels {
			if l := &r.File.Levels[i]; l.Requests > 0 && (lowest == 0 || l.Latency.AvgUs < lowest) {
				lowest = l.Latency.AvgUs
			}
		}
	}
	best := units[0]
	for _, u := range units {
		if lowest >= u.us {
			best = u
		}
	}
	return best
}

// text formats a latency in the unit.
func (u unit) text(us float64) string { return significant(us / u.us) }

// significant formats a figure with four digits, and all digits of its whole part.
func significant(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v >= 1000:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v < 0.001:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	digits := 3
	for limit := 10.0; v >= limit && digits > 0; limit *= 10 {
		digits--
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

// loadName returns what the load of a level counts.
func loadName(m Mode) string {
	if m.Rate() {
		return "Request rate"
	}
	return "Concurrency"
}

// loadText formats the load of a level.
func loadText(m Mode, l *Level) string {
	switch m {
	case FixedSchedule:
		return "schedule"
	case Intervals:
		return "intervals"
	}
	return sixDigits(l.Load)
}

func sixDigits(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// noteOf says why a level does not count, or what limited it.
func noteOf(l *Level) string {
	var notes []string
	if l.Problem != "" {
		notes = append(notes, l.Problem)
	} else if l.Requests == 0 {
		notes = append(notes, "no requests")
	}
	if l.ClientLimit != "" {
		notes = append(notes, "the client was the limit")
	}
	if l.Late != "" {
		notes = append(notes, "requests started late")
	}
	if l.Failed > 0 {
		notes = append(notes, fmt.Sprintf("%d requests failed", l.Failed))
	}
	return strings.Join(notes, ", ")
}

// hasFew reports whether a percentile rests on fewer than ten requests beyond it, so that
// another measurement gives another value.
func hasFew(l *Level, p float64) bool { return float64(l.Requests)*(100-p)/100 < 10 }

// percentiles returns the percentiles that the levels have, in ascending order.
func percentiles(levels []Level) []float64 {
	var all []float64
	for i := range levels {
		for _, p := range levels[i].Latency.Percentiles {
			if !slices.Contains(all, p.P) {
				all = append(all, p.P)
			}
		}
	}
	slices.Sort(all)
	return all
}

func batchText(size int) string {
	if size == 0 {
		return "-"
	}
	return strconv.Itoa(size)
}

// part is a share of the time of a request.
type part struct {
	Name    string
	us      float64
	Text    string
	Percent string
	Class   int
}

var partNames = []string{"Client and network", "Queue", "Compute input", "Compute", "Compute output"}

// split divides the average latency of a level by the server's statistics; nil without them.
func split(l *Level, u unit) []part {
	s := l.Server
	if s == nil || l.Requests == 0 {
		return nil
	}
	parts := []float64{0, s.QueueUs, s.ComputeInputUs, s.ComputeInferUs, s.ComputeOutputUs}
	inside := 0.0
	for _, us := range parts {
		inside += us
	}
	parts[0] = max(0, l.Latency.AvgUs-max(inside, s.RequestUs))
	total := parts[0] + inside
	var all []part
	for i, us := range parts {
		p := part{Name: partNames[i], us: us, Text: u.text(us), Percent: "0", Class: i}
		if total > 0 {
			p.Percent = fmt.Sprintf("%.2f", 100*us/total)
		}
		all = append(all, p)
	}
	return all
}
